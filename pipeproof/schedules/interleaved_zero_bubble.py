"""Interleaved zero bubble (ZB1P): as interleaved 1F1B, with weight gradients put off.

Source: Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2.1 (ZB-H1); torch
2.13.0, `torch/distributed/pipelining/schedules.py`, `ScheduleInterleavedZeroBubble`.
"""

from typing import Literal

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape
from pipeproof.schedules._rounds import divides, in_rounds, warmup

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "expected", "order"]

NAME = "interleaved_zero_bubble"
STAGES_PER_RANK: int | None = None
PLACEMENT: Literal["loop", "v"] = "loop"


def expected(shape: Shape) -> str:
    """Return what is expected of the number of microbatches; nothing where it is so."""
    return divides(shape)


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order.

    After the warm-up each turn is a forward while there is one, an input gradient, and from turn
    `rank` on the oldest weight gradient that is pending; the pending ones close.
    """
    total = shape.microbatches * shape.stages_per_rank
    first = warmup(shape, rank, 1)
    turn = np.arange(total)
    runs = np.stack([turn < total - first, turn >= 0, turn >= rank], axis=1)
    turns = np.tile(np.array([Kind.F, Kind.I, Kind.W], np.int64), (total, 1))[runs]
    opening = np.full(first, Kind.F, np.int64)
    closing = np.full(min(rank, total), Kind.W, np.int64)
    return in_rounds(np.concatenate([opening, turns, closing]), shape, rank)
