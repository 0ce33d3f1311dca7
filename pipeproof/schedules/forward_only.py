"""Forward only: each rank runs its forwards, and there is no backward.

Source: torch 2.13.0, `torch/distributed/pipelining/schedules.py`, `_ScheduleForwardOnly`.
"""

from typing import Literal

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape, Step, in_turn, repeat

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "order"]

NAME = "forward_only"
STAGES_PER_RANK: int | None = 1
PLACEMENT: Literal["loop", "v"] = "loop"


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    return in_turn(repeat(shape.microbatches, Step(Kind.F, rank)))
