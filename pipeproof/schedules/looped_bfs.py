"""Looped BFS: breadth first, every microbatch through a stage before the next stage.

Backwards run from the last stage of the rank to the first, and from the last microbatch to the
first.

Source: Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv:2211.05953; torch 2.13.0,
`torch/distributed/pipelining/schedules.py`, `ScheduleLoopedBFS`.
"""

from typing import Literal

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape, Step, backwards_descend, in_turn, repeat

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "order"]

NAME = "looped_bfs"
STAGES_PER_RANK: int | None = None
PLACEMENT: Literal["loop", "v"] = "loop"


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    n, stages = shape.microbatches, range(rank, shape.stages, shape.ranks)
    forwards = [repeat(n, Step(Kind.F, stage)) for stage in stages]
    backwards = [repeat(n, Step(Kind.B, stage)) for stage in reversed(stages)]
    return backwards_descend(in_turn(*forwards, *backwards), n)
