"""`pipeproof run`: runs a schedule on tensors, and compares it with the unsplit model."""

from typing import TYPE_CHECKING, Unpack

import click

from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import emit
from pipeproof.cli._seen import needs_torch, replayed, seen_code, witness_option
from pipeproof.cli._single import only
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.verdict.verdict import Outcome, TransportVerdict

if TYPE_CHECKING:
    from pipeproof.execution.confirm import Ran
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

__all__ = ["command"]


class _Values(Asking):
    path: str
    witness: str
    orders: int
    seed: int


@click.command(name="run", short_help="Run a schedule on tensors, against the unsplit model.")
@click.argument("path", metavar="FILE")
@transport_option
@reading_options
@witness_option
@click.option(
    "--orders",
    type=click.IntRange(1, 10_000),
    default=3,
    show_default=True,
    help="How many interleavings are run under each transport.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the data.")
def command(**values: Unpack[_Values]) -> int:
    """Judge the schedule in FILE, and run it in this process, event by event.

    Where it is proved, every number must be that of the unsplit model, microbatch by microbatch;
    where it is refuted, its first counterexample is replayed. The exit code is that of `check`; it
    is 4 where the run shows something else, and 3 where the model cannot show the schedule.
    """
    needs_torch()
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed

    document, question = only(values["path"], read_options(values)), asked(values)
    kept: list[tuple[Model, Decision]] = []
    verdict = api.judge(document, question, kept)
    running = _Running(document.name, kept, values)
    codes = [running.under(each) for each in verdict.transports]
    return worst(set(codes))


class _Running:
    """Runs one schedule under each of its transports, and says what came of it."""

    def __init__(self, name: str, kept: "list[tuple[Model, Decision]]", values: _Values) -> None:
        self.name, self.kept, self.values = name, kept, values

    def under(self, verdict: TransportVerdict) -> Exit:
        """Run the schedule under one transport."""
        try:
            match verdict.outcome:
                case Outcome.PROVED:
                    return self._legal(verdict)
                case Outcome.REFUTED:
                    return self._illegal(verdict)
                case Outcome.UNKNOWN:
                    self._tell(verdict, "unknown, not run")
                    return Exit.UNKNOWN
        except UnsupportedFeatureError as error:
            self._tell(verdict, f"not run: {error}")
            return Exit.UNKNOWN

    def _tell(self, verdict: TransportVerdict, said: str) -> None:
        emit(f"{self.name}: {verdict.name}: {said}\n")

    def _legal(self, verdict: TransportVerdict) -> Exit:
        found = [self._once(verdict.name, n) for n in range(self.values["orders"])]
        for note in sorted({note for each in found for note in each.notes}):
            self._tell(verdict, note)
        wrong = next((each.wrong for each in found if each.wrong), None)
        if wrong is not None:
            self._tell(verdict, f"proved, and not seen: do not trust this: {wrong}")
            return Exit.DISTRUST
        compared, ratio = sum(each.compared for each in found), max(each.ratio for each in found)
        exact = "bitwise those of the unsplit model"
        near = f"those of the unsplit model, gradients within {ratio:.2g} of what rounding allows"
        said = f"{len(found)} orders, {compared} numbers, {near if ratio else exact}"
        self._tell(verdict, f"proved, seen: {said}")
        return Exit.PROVED

    def _once(self, transport: str, number: int) -> "Ran":
        from pipeproof.execution.confirm import run_legal  # noqa: PLC0415  torch, when needed
        from pipeproof.execution.orders import Events, Style, extended  # noqa: PLC0415
        from pipeproof.execution.witness import InexactError  # noqa: PLC0415

        models = self._models(transport)
        model = models[number % len(models)]
        events = Events(model.events, model.frame.first_transfer)
        style, seed = list(Style)[number % len(Style)], self.values["seed"] + number
        order = extended(model.happens_before, events, style=style, seed=seed)
        run, match = model.frame.run, model.frame.transport.match
        try:
            return run_legal(run, match, order, witness=self.values["witness"], seed=seed)
        except InexactError as error:
            raise UnsupportedFeatureError(str(error)) from error

    def _models(self, transport: str) -> "list[Model]":
        """Return every outcome of choices in which nothing goes wrong."""
        named = (each for each, _ in self.kept if each.frame.transport.name == transport)
        return [each for each in named if each.frame.run.faults is None]

    def _illegal(self, verdict: TransportVerdict) -> Exit:
        first = next(each for each in verdict.violations if each.first)
        found = replayed(verdict.name, first, self.kept, self.values["witness"])
        said = f"{first.rule} {first.message}"
        self._tell(verdict, f"refuted, {found.answer.value}: {said}; {found.why}")
        return worst(seen_code([found]))
