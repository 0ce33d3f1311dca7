"""Runs with a fault, each beside its control."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pipeproof.execution._events import Events
from pipeproof.execution.faults.harness import Trial, tried
from pipeproof.execution.faults.injections import injected
from pipeproof.execution.faults.node import Manner
from pipeproof.execution.faults.simulated import simulated
from pipeproof.execution.faults.split import Setting
from tests.execution.faults.campaign import text
from tests.execution.played import document, models

if TYPE_CHECKING:
    from pipeproof.execution.faults.harness import Drive
    from pipeproof.execution.faults.node import Ended
    from pipeproof.ir.faults import Policy

POLICIES: tuple[Policy, ...] = ("raise", "abort", "recover")


@lru_cache(maxsize=32)
def setting(stages: int = 3, microbatches: int = 2, witness: str = "linear") -> Setting:
    """A schedule whose ranks each have a stage and take a step."""
    return of_text(text(stages, microbatches), witness)


def of_text(written: str, witness: str = "linear") -> Setting:
    model = next(models(document(written)))
    frame = model.frame
    return Setting(frame.run, frame.transport.match, model.happens_before, witness)


def events(own: Setting) -> Events:
    return Events(own.run, own.match)


@lru_cache(maxsize=64)
def _control(own: tuple[int, int, str]) -> list[Ended]:
    return simulated(setting(*own))


def trial(
    fault: str,
    policy: Policy = "raise",
    own: tuple[int, int, str] = (3, 2, "linear"),
    drive: Drive = simulated,
    window: float = 1.0,
) -> Trial:
    """A run with a fault; the control is one in this process."""
    there = setting(*own)
    injection = injected(fault, there.run, events(there))
    return tried(drive, there, injection, Manner(window, policy), _control(own))


def every(own: Setting) -> list[str]:
    """Every fault that can be put into a schedule, as it is written."""
    run, told = own.run, events(own)
    found = [f"missing@r{rank}" for rank in range(run.schedule.ranks)]
    for row in range(len(run.operations)):
        rank, said = int(run.operations.rank[row]), told.text(row)
        found.append(f"stops@r{rank}:{told.position(row)}")
        if "SEND" in said:
            kinds = ("delayed", "dropped", "duplicated", "corrupted", "misshapen", "turned")
            found += [f"{kind}@r{rank}:{said}" for kind in kinds]
        elif "RECV" not in said:
            bits = ("sign", "exponent", "mantissa")
            found += [f"delayed@r{rank}:{said}", *(f"turned={b}@r{rank}:{said}" for b in bits)]
    return found
