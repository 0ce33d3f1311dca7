"""`pipeproof run`: runs a schedule on tensors, and compares it with the unsplit model."""

from typing import TYPE_CHECKING, Unpack

import click

from pipeproof.cli._device import device_option, streams_of
from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._inject import Injecting, inject_options
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._processes import one_way, processes_option, ranks_of
from pipeproof.cli._recorder import Recorder, recorder_of, trace_option
from pipeproof.cli._runtime import InRuntime, runtime_option
from pipeproof.cli._seen import needs_torch, replayed, seen_code, witness_option
from pipeproof.cli._single import only
from pipeproof.cli._telling import Teller, format_option, verbose_option
from pipeproof.cli._unheard import all_heard
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.verdict.verdict import Outcome, TransportVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.cli._device import OnStreams
    from pipeproof.cli._processes import OnRanks
    from pipeproof.execution.confirm import Ran
    from pipeproof.ir.faults import Policy
    from pipeproof.ir.source import Document
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision
    from pipeproof.verdict.result import Json

__all__ = ["command"]

_NOT_RUN = "not run"
_SEED = "Of the data of a legal schedule; a counterexample has seeds of its own."


class _Values(Asking):
    path: str
    witness: str
    orders: int
    seed: int
    processes: str | None
    device: str
    runtime: str | None
    inject: tuple[str, ...]
    policy: "Policy | None"
    trace: str | None
    format_: str
    verbose: bool


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
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help=_SEED)
@processes_option
@device_option
@runtime_option
@inject_options
@trace_option
@format_option
@verbose_option
def command(**values: Unpack[_Values]) -> int:
    """Judge the schedule in FILE, and run it in this process, event by event.

    Where it is proved, every number must be that of the unsplit model, microbatch by microbatch;
    where it is refuted, its first counterexample is replayed. The exit code is that of `check`; it
    is 4 where the run shows something else, and 3 where the model cannot show the schedule.

    With --processes gloo each rank is a process of its own, and its messages are those of torch.
    Transports that gloo is no witness of are passed over. With --device each rank is two or more
    streams, and events alone keep their order. With --runtime torch a CSV of torch runs
    in torch's own pipeline runtime, and the code is 4 where it does not do what the verdict says.

    With --inject something goes wrong on purpose, here in simulated time or with --processes gloo:
    the code is 0 where it is named exactly and nothing is half applied, else 1.

    With --trace the times of what ran to its end are written as Chrome's trace events, each order a
    step; `conform` and `calibrate` read them.
    """
    device, runtime = values["device"] != "cpu", values["runtime"]
    one_way(processes=values["processes"], device=device, runtime=runtime)
    one_way(inject=values["inject"], device=device, runtime=runtime)
    one_way(inject=values["inject"], trace=values["trace"])
    all_heard(values)
    needs_torch()
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.execution.provenance import settled  # noqa: PLC0415  torch, when needed

    document, question = only(values["path"], read_options(values)), asked(values)
    streams = streams_of(values)
    if values["runtime"]:
        return InRuntime(document, question, values).run()
    if values["inject"]:
        return Injecting(document, question, values).run()
    kept: list[tuple[Model, Decision]] = []
    verdict = api.judge(document, question, kept)
    teller = Teller("pipeproof.run/1", values["format_"], verbose=values["verbose"])
    with settled(), ranks_of(values["processes"], values["witness"]) as ranks:
        running = _Running(document, kept, values, teller, streams or ranks)
        codes = {running.under(each) for each in running.shown(verdict.transports)}
    running.recorder.write(running.carrier)
    teller.close("runs", path=document.name, verdict=verdict.verdict)
    codes |= running.passed_over
    return worst(codes) if codes else Exit.UNKNOWN


class _Running:
    """Runs one schedule under each of its transports, and says what came of it."""

    def __init__(
        self,
        document: "Document",
        kept: "list[tuple[Model, Decision]]",
        values: _Values,
        teller: Teller,
        ranks: "OnRanks | OnStreams | None",
    ) -> None:
        self.document, self.kept, self.values, self.teller = document, kept, values, teller
        self.ranks = ranks
        self.recorder: Recorder = recorder_of(values)
        self.passed_over: set[Exit] = set()

    def shown(self, verdicts: tuple[TransportVerdict, ...]) -> "Iterator[TransportVerdict]":
        """Yield the transports that can be run at all: on real ranks not every one can.

        One under which the schedule is refuted stays refuted where it is passed over.
        """
        for each in verdicts:
            models = self._models(each.name) if self.ranks is not None else []
            why = self.ranks.unfair(models) if self.ranks is not None else None
            if why is None:
                yield each
            else:
                self._tell(each, f"not run on real ranks: {why}", answer=_NOT_RUN, why=why)
                if each.outcome is Outcome.REFUTED:
                    self.passed_over.add(Exit.REFUTED)

    def under(self, verdict: TransportVerdict) -> Exit:
        """Run the schedule under one transport."""
        try:
            match verdict.outcome:
                case Outcome.PROVED:
                    return self._legal(verdict)
                case Outcome.REFUTED:
                    return self._illegal(verdict)
                case Outcome.UNKNOWN:
                    self._tell(verdict, "unknown, not run", answer=_NOT_RUN, why="unknown")
                    return Exit.UNKNOWN
        except UnsupportedFeatureError as error:
            self._tell(verdict, f"not run: {error}", answer=_NOT_RUN, why=str(error))
            return Exit.UNKNOWN

    def _tell(self, verdict: TransportVerdict, text: str, **said: "Json") -> None:
        from pipeproof.cli._provenance import came_of  # noqa: PLC0415  imported when needed

        self.teller.tell(
            f"{self.document.name}: {verdict.name}: {text}",
            {"transport": verdict.name, "verdict": verdict.outcome.value, **said},
            lambda: came_of(
                self.document,
                verdict.name,
                self.values["witness"],
                self._seeds(verdict),
                runs_on=self.carrier,
                device=self.values["device"],
            ),
        )

    def _seeds(self, verdict: TransportVerdict) -> range:
        """Return the seeds of the data: real ranks run every order on the same."""
        from pipeproof.execution.confirm import SEEDS  # noqa: PLC0415  torch, when needed

        begins, proved = self.values["seed"], verdict.outcome is Outcome.PROVED
        if self.values["processes"]:
            return range(begins, begins + 1) if proved else SEEDS[:1]
        return range(begins, begins + self.values["orders"]) if proved else SEEDS

    @property
    def carrier(self) -> str:
        """What carries messages, in words."""
        if self.values["processes"]:
            number = self.document.schedule.ranks
            return f"{self.values['processes']}, {number} processes"
        return "one process" if self.values["device"] == "cpu" else "streams"

    def _legal(self, verdict: TransportVerdict) -> Exit:
        found = self._runs(verdict.name)
        notes = sorted({note for each in found for note in each.notes})
        for note in notes:
            self.teller.note(f"{self.document.name}: {verdict.name}: {note}")
        wrong = next((each.wrong for each in found if each.wrong), None)
        if wrong is not None:
            text = f"proved, and not seen: do not trust this: {wrong}"
            self._tell(verdict, text, answer="not seen", why=wrong, notes=notes)
            return Exit.DISTRUST
        compared, ratio = sum(each.compared for each in found), max(each.ratio for each in found)
        if not compared:
            text = "proved, not seen: nothing is computed that could be compared"
            self._tell(verdict, text, answer=_NOT_RUN, why="nothing to compare", notes=notes)
            return Exit.UNKNOWN
        exact = "bitwise those of the unsplit model"
        near = f"those of the unsplit model, gradients within {ratio:.2g} of what rounding allows"
        outcomes, ways = len(self._models(verdict.name)), f"{len(found)} orders"
        if len(found) < outcomes:
            ways = f"{ways}, each in another of {outcomes} outcomes"
        why = f"{ways}, {compared} numbers, {near if ratio else exact}"
        counts = {"orders": len(found), "compared": compared, "ratio": ratio}
        self._tell(verdict, f"proved, seen: {why}", answer="seen", why=why, notes=notes, **counts)
        return Exit.PROVED

    def _runs(self, transport: str) -> "list[Ran]":
        number, seed = self.values["orders"], self.values["seed"]
        models = self._models(transport)
        if self.ranks is None:
            return [self._once(transport, n) for n in range(number)]
        found = self.ranks.runs(models, number, seed)
        for each in found:
            self.recorder.take(models, each.moments)
        return found

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
            watched = self.recorder.watched(order, models)
            return run_legal(run, match, watched, witness=self.values["witness"], seed=seed)
        except InexactError as error:
            raise UnsupportedFeatureError(str(error)) from error

    def _models(self, transport: str) -> "list[Model]":
        """Return every outcome of choices in which nothing goes wrong."""
        named = (each for each, _ in self.kept if each.frame.transport.name == transport)
        return [each for each in named if each.frame.run.faults is None]

    def _illegal(self, verdict: TransportVerdict) -> Exit:
        first = next(each for each in verdict.violations if each.first)
        how = None if self.ranks is None else self.ranks.confirming
        found = replayed(verdict.name, first, self.kept, self.values["witness"], how)
        text = f"refuted, {found.answer.value}: {first.rule} {first.message}; {found.why}"
        at: list[Json] = [{"rank": each.rank, "position": each.position} for each in first.at]
        answer = found.answer.value
        self._tell(verdict, text, answer=answer, why=found.why, rule=first.rule, at=at)
        return worst(seen_code([found]))
