"""`--runtime torch`: a CSV of torch in torch's own pipeline runtime, beside its verdict."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._recorder import recorder_of
from pipeproof.cli._single import content
from pipeproof.cli._telling import Teller
from pipeproof.verdict.verdict import Outcome, TransportVerdict

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.execution.runtime.predicted import Compared
    from pipeproof.execution.runtime.programs import Program
    from pipeproof.execution.runtime.ran import Ran
    from pipeproof.ir.source import Document

__all__ = ["InRuntime", "RuntimeValues", "runtime_option"]

_F = TypeVar("_F", bound=Callable[..., object])
_HINT = "'--runtime'"
_GLOO = "gloo"
_LOWERED = {"torch": False, "as-written": False, "torch-deferred": True}
_CODES = {Outcome.PROVED: Exit.PROVED, Outcome.REFUTED: Exit.REFUTED}


def runtime_option(command: _F) -> _F:
    """Add the option that names a runtime."""
    return click.option(
        "--runtime",
        type=click.Choice(("torch",)),
        help="Run a CSV of torch in torch's own pipeline runtime, over gloo on this machine.",
    )(command)


class RuntimeValues(TypedDict):
    """What the options say."""

    witness: str
    trace: str | None
    format_: str
    verbose: bool


class InRuntime:
    """Runs one CSV in torch's runtime, and says whether it does what the verdict says."""

    def __init__(self, document: "Document", question: "Asked", values: "RuntimeValues") -> None:
        self.document, self.question, self.values = document, question, values
        self.teller = Teller("pipeproof.run/1", values["format_"], verbose=values["verbose"])

    def run(self) -> Exit:
        """Judge and run the file.

        Raises:
            click.BadParameter: torch's runtime cannot run the file, or not as asked.
        """
        from dataclasses import replace  # noqa: PLC0415  imported when needed

        from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
        from pipeproof.execution.provenance import settled  # noqa: PLC0415  torch
        from pipeproof.execution.runtime.predicted import compared, covered  # noqa: PLC0415
        from pipeproof.execution.runtime.ran import Runtime  # noqa: PLC0415

        self._check()
        program = self._program()
        verdict = api.judge(self.document, replace(self.question, transports=(_GLOO,)))
        if verdict.forward_only:
            _refuse("torch's runtime trains, and no backward stands in the file")
        program = covered(program, verdict.transports[0])
        with settled(), Runtime() as runtime:
            ran = runtime.run(program)
            found = compared(program, verdict.transports[0], ran)
            self._tell(program, verdict.transports[0], ran, found)
        recorder = recorder_of(self.values)
        recorder.take_named(ran.moments, _GLOO)
        recorder.write("torch's runtime over gloo")
        self.teller.close("runs", path=self.document.name, verdict=verdict.verdict)
        if not found.agrees:
            return Exit.DISTRUST
        return _CODES.get(verdict.outcome, Exit.UNKNOWN)

    def _check(self) -> None:
        from pipeproof.execution.witness import EXACT  # noqa: PLC0415  torch, when needed

        if self.question.transports not in ((), (_GLOO,)):
            _refuse("torch's runtime is run over gloo; leave out other transports")
        if self.values["witness"] != EXACT:
            _refuse(f"torch's runtime runs the witness {EXACT} only")

    def _program(self) -> "Program":
        from pipeproof.execution.runtime.programs import of_csv  # noqa: PLC0415  torch
        from pipeproof.frontends import torch_csv  # noqa: PLC0415  imported when needed

        schedule, name = self.document.schedule, self.document.name
        text = content(name)
        if not torch_csv.sniff(text, name):
            _refuse(f"{name} is no CSV of torch")
        if schedule.lowering not in _LOWERED:
            _refuse(f"torch lowers a file itself, and not as '{schedule.lowering}'")
        return of_csv(
            text,
            schedule.stages,
            schedule.microbatches,
            profile=schedule.profile,
            deferred=_LOWERED[schedule.lowering],
        )

    def _tell(
        self, program: "Program", verdict: TransportVerdict, ran: "Ran", found: "Compared"
    ) -> None:
        from pipeproof.cli._provenance import came_of  # noqa: PLC0415  imported when needed
        from pipeproof.execution.runtime.steps import SEEDS, given  # noqa: PLC0415  torch
        from pipeproof.execution.witness import EXACT  # noqa: PLC0415

        first = next((each for each in verdict.violations if each.first), None)
        rule = "" if first is None else f": {first.rule} {first.message}"
        head = f"{self.document.name}: {_GLOO}: {verdict.outcome.value}{rule}"
        self.teller.tell(
            f"{head}; torch's runtime: {_seen(ran, found)}",
            {
                "transport": _GLOO,
                "verdict": verdict.outcome.value,
                "predicted": None if found.predicted is None else found.predicted.value,
                "seen": ran.kind.value,
                "agrees": found.agrees,
                "explained": found.why,
                "why": ran.said,
                "at": [{"rank": each.rank, "action": each.action} for each in ran.at],
                "compared": ran.compared,
                **({} if first is None else {"rule": first.rule}),
            },
            lambda: {
                **came_of(
                    self.document,
                    _GLOO,
                    EXACT,
                    SEEDS[: program.steps],
                    runs_on="torch's runtime over gloo",
                ),
                "inputs": given(program),
            },
        )


def _seen(ran: "Ran", found: "Compared") -> str:
    """Return what a run showed, beside what was predicted where that is something else."""
    exact = f"{ran.compared} numbers, bitwise those of the unsplit model"
    said = f"{ran.kind.value}: {ran.said or exact}"
    if not found.placed:
        return f"{said}; other ranks than predicted: do not trust this"
    if found.predicted in (None, ran.kind):
        return said if found.predicted else f"{said}; nothing was predicted"
    told = found.why or "do not trust this"
    return f"{said}; predicted was {found.predicted}: {told}"


def _refuse(said: str) -> None:
    raise click.BadParameter(said, param_hint=_HINT)
