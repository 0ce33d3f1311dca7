"""ZBV: zero bubble over two stages a rank, placed in a V.

It takes 2R - 1 microbatches to fill the pipeline; where there are fewer, the order is that of
2R - 1 without the operations of those that do not exist.

Source: Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 6; torch 2.13.0,
`torch/distributed/pipelining/schedules.py`, `ScheduleZBVZeroBubble`.
"""

from typing import Literal

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape, Step, in_turn, repeat

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "order"]

NAME = "zbv"
STAGES_PER_RANK: int | None = 2
PLACEMENT: Literal["loop", "v"] = "v"


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    near, far, behind = rank, shape.stages - 1 - rank, shape.ranks - rank
    f, i, w = (Step(kind, near) for kind in (Kind.F, Kind.I, Kind.W))
    far_f, far_i, far_w = (Step(kind, far) for kind in (Kind.F, Kind.I, Kind.W))
    filling = 2 * shape.ranks - 1
    steady = max(filling, shape.microbatches) - (filling - rank)
    found = in_turn(
        repeat(2 * behind - 1, f),
        repeat(rank, far_f, f),
        repeat(behind, far_f, far_i, far_w),
        repeat(steady, f, i, w, far_f, far_i, far_w),
        repeat(behind - 1, i, w, far_f, far_i, far_w),
        repeat(rank, i, far_i),
        repeat(behind, i, w),
        repeat(rank, far_w),
        repeat(rank, w),
    )
    return found.only(found.microbatch < shape.microbatches)
