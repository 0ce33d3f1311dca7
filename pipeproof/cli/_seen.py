"""Counterexamples and proofs, seen to happen on tensors: where torch is first asked for."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from pipeproof.cli._exits import Exit

if TYPE_CHECKING:
    from pipeproof.execution.confirm import Claim, Confirmed
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.verdict import Violation

__all__ = ["claim_of", "confirmed", "needs_torch", "seen_code", "witness_option"]

_WITNESSES = ("linear", "transformer", "batchnorm", "dropout")

witness_option = click.option(
    "--witness",
    type=click.Choice(_WITNESSES),
    default=_WITNESSES[0],
    show_default=True,
    help="The model that is run; with linear every number is exact.",
)


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


def claim_of(violation: "Violation") -> "Claim":
    """Return what a violation claims."""
    from pipeproof.execution.confirm import Claim  # noqa: PLC0415  as above

    places = tuple((place.rank, place.position) for place in violation.at)
    return Claim(violation.rule, places, violation.trace, violation.reached)


def confirmed(
    models: "Callable[[str, int], Model | None]", transport: str, claim: "Claim", witness: str
) -> "Confirmed":
    """Return what becomes of a counterexample, in one copy of the programs or in two."""
    from pipeproof.execution.confirm import Answer, Confirmed, confirm  # noqa: PLC0415

    found = Confirmed(Answer.NOT_REPRODUCED, "the schedule has no such transport")
    for copies in (1, 2):
        model = models(transport, copies)
        if model is None:
            return found
        match = model.frame.transport.match
        found = confirm(model.frame.run, match, model.happens_before, claim, witness=witness)
        if found.answer is not Answer.NOT_REPRODUCED or model.frame.run.schedule.steps is not None:
            break
    return found


def seen_code(found: Iterable["Confirmed"]) -> set[Exit]:
    """Return the exit codes of counterexamples: 4 where one was not reproduced, else 1."""
    from pipeproof.execution.confirm import Answer  # noqa: PLC0415

    return {
        Exit.DISTRUST if each.answer is Answer.NOT_REPRODUCED else Exit.REFUTED for each in found
    }
