"""Counterexamples and proofs, seen to happen on tensors: where torch is first asked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from pipeproof.cli._exits import Exit
from pipeproof.verdict.telling import place
from pipeproof.verdict.verdict import FileVerdict, Seen, TransportVerdict, Violation

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.execution.confirm import Claim, Confirmed
    from pipeproof.ir.source import Document
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

    Kept = Sequence[tuple[Model, Decision]]

__all__ = [
    "NOT_REPRODUCED",
    "by_fault",
    "confirm_option",
    "confirmed",
    "is_by_fault",
    "models_of",
    "needs_torch",
    "replayed",
    "seen",
    "seen_code",
    "witness_of",
    "witness_option",
]

NOT_REPRODUCED = "not reproduced"
_INJECTED = "what goes wrong by faults: has to be injected: pipeproof run --inject"
_WITNESSES = ("linear", "transformer", "batchnorm", "dropout")
_F = TypeVar("_F", bound=Callable[..., int])

witness_option = click.option(
    "--witness",
    type=click.Choice(_WITNESSES),
    default=_WITNESSES[0],
    show_default=True,
    help="The model that is run; with linear every number is exact.",
)


def confirm_option(function: _F) -> _F:
    """Add the options that ask for counterexamples to be replayed."""
    told = f"With --confirm: the model that is run; {_WITNESSES[0]} unless named."
    function = click.option("--witness", type=click.Choice(_WITNESSES), help=told)(function)
    told = "Replay every counterexample on tensors; exit 4 where one is not reproduced."
    return click.option("--confirm", is_flag=True, help=told)(function)


def witness_of(*, confirm: bool, witness: str | None) -> str | None:
    """Return the witness on which counterexamples are replayed, None where nobody asks.

    Raises:
        click.UsageError: a witness is named, and nothing is to be replayed.
        click.ClickException: torch is not installed.
    """
    if not confirm:
        if witness is not None:
            said = "--witness goes with --confirm."
            raise click.UsageError(said)
        return None
    needs_torch()
    return witness or _WITNESSES[0]


def needs_torch() -> None:
    """Check that torch is there.

    Raises:
        click.ClickException: it is not installed.
    """
    try:
        import pipeproof.execution.confirm  # noqa: PLC0415  torch takes seconds to import
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "torch":
            raise
        said = "this runs on torch, which is not installed: pip install 'pipeproof[torch]'"
        raise click.ClickException(said) from error
    del pipeproof


def seen(verdict: FileVerdict, kept: "Kept", witness: str) -> FileVerdict:
    """Return a verdict that says of every counterexample what became of it on tensors."""
    found = [
        replace(each, violations=tuple(_seen(each, v, kept, witness) for v in each.violations))
        for each in verdict.transports
    ]
    return replace(verdict, transports=tuple(found))


def _seen(verdict: TransportVerdict, violation: Violation, kept: "Kept", witness: str) -> Violation:
    found = replayed(verdict.name, violation, kept, witness)
    return replace(violation, seen=Seen(found.answer.value, found.why, witness))


def replayed(
    transport: str,
    violation: Violation,
    kept: "Kept",
    witness: str,
    confirming: "Callable[[Model, Claim], Confirmed] | None" = None,
) -> "Confirmed":
    """Return what becomes of a violation in the outcomes of choices that break the rule there.

    It is replayed in this process unless `confirming` says how else it is shown. What goes wrong
    by `faults:` of the file is not replayed.
    """
    claims = list(_claimed(transport, violation, kept))
    if not claims and any("faults" in each.frame.run.schedule.described for each, _ in kept):
        return by_fault()
    return confirmed(claims, witness, confirming)


def by_fault() -> "Confirmed":
    """Return what is said of a counterexample in which something goes wrong by `faults:`."""
    from pipeproof.execution.confirm import Answer, Confirmed  # noqa: PLC0415  when needed

    return Confirmed(Answer.NOT_OBSERVABLE, _INJECTED)


def is_by_fault(document: "Document", question: "Asked", transport: str, claim: "Claim") -> bool:
    """Whether a counterexample is one of a schedule only where something goes wrong in it."""
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed

    if "faults" not in document.schedule.described:
        return False
    kept: list[tuple[Model, Decision]] = []
    verdicts = api.judge(document, question, kept).transports
    told = (
        each for verdict in verdicts if verdict.name == transport for each in verdict.violations
    )
    return any(
        each.rule == claim.rule
        and {(at.rank, at.position) for at in each.at} == {*claim.places}
        and not list(_claimed(transport, each, kept))
        for each in told
    )


def _claimed(transport: str, violation: Violation, kept: "Kept") -> "Iterator[tuple[Model, Claim]]":
    from pipeproof.execution.confirm import Claim  # noqa: PLC0415  torch, when needed

    for model, decision in kept:
        if model.frame.transport.name != transport:
            continue
        for broken in decision.broken:
            at = [place(model.frame, spot) for spot in broken.finding.spots]
            if broken.rule.code == violation.rule and {*at} == {*violation.at}:
                places = tuple((each.rank, each.position) for each in at)
                trace = tuple(broken.trace.tolist())
                yield model, Claim(violation.rule, places, trace, broken.reached)
                break


def confirmed(
    claims: "Iterable[tuple[Model, Claim]]",
    witness: str,
    confirming: "Callable[[Model, Claim], Confirmed] | None" = None,
) -> "Confirmed":
    """Return what becomes of a counterexample in the first model that shows it."""
    from pipeproof.execution.confirm import Answer, Confirmed, confirm  # noqa: PLC0415

    best = Confirmed(Answer.NOT_REPRODUCED, "the schedule has no such counterexample")
    for model, claim in claims:
        if confirming is not None:
            found = confirming(model, claim)
        else:
            match = model.frame.transport.match
            found = confirm(model.frame.run, match, model.happens_before, claim, witness=witness)
        if found.answer is Answer.CONFIRMED:
            return found
        if best.answer is Answer.NOT_REPRODUCED:
            best = found
    return best


def models_of(document: "Document", question: "Asked", transport: str) -> "Iterator[Model]":
    """Yield what a counterexample may be told of: the schedule in one copy of its programs or two.

    Where a runtime chooses, every outcome that is judged.
    """
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.lowering.outcomes import has_choices  # noqa: PLC0415

    made = api.models(document, question)
    one = made(transport, 1)
    if one is not None and has_choices(one.frame.run):
        kept: list[tuple[Model, Decision]] = []
        api.judge(document, question, kept)
        yield from (model for model, _ in kept if model.frame.transport.name == transport)
        return
    if one is not None:
        yield one
    two = made(transport, 2) if document.schedule.steps is None else None
    if two is not None:
        yield two


def seen_code(found: "Iterable[Confirmed]") -> set[Exit]:
    """Return the exit codes of counterexamples: 4 where one was not reproduced, else 1."""
    lost = (each.answer.value == NOT_REPRODUCED for each in found)
    return {Exit.DISTRUST if each else Exit.REFUTED for each in lost}
