"""Schedules under a transport, as real ranks take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeproof.execution.ranks.confirm import Subject, confirm_on_ranks, run_on_ranks
from tests.execution.played import claims, document, models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.execution.confirm import Claim, Confirmed, Ran
    from pipeproof.execution.ranks.processes import Processes
    from pipeproof.semantics.model import Model


def subject(model: Model) -> Subject:
    frame = model.frame
    return Subject(frame.run, frame.transport, frame.waits, model.progress)


def ran_on(processes: Processes, text: str, orders: int = 2, witness: str = "linear") -> list[Ran]:
    """What runs of a legal schedule show, under each of its transports."""
    return [
        one
        for model in models(document(text))
        for one in run_on_ranks(processes, subject(model), orders=orders, witness=witness)
    ]


def answers_on(
    processes: Processes, text: str, rule: str, *, once: bool = True
) -> Iterator[tuple[Claim, Confirmed]]:
    """What becomes of the counterexamples to a rule that are reached, or of the first of them."""
    for model, claim in claims(text, rule):
        if claim.reached:
            yield claim, confirm_on_ranks(processes, subject(model), claim)
            if once:
                return
