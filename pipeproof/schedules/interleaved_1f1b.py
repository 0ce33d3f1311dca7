"""Interleaved 1F1B: one forward and one backward in turn, a rank visiting its stages in rounds.

Source: Narayanan et al., Megatron-LM, arXiv:2104.04473, section 2.2; torch 2.13.0,
`torch/distributed/pipelining/schedules.py`, `ScheduleInterleaved1F1B`.
"""

from typing import Literal

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape
from pipeproof.schedules._rounds import divides, in_rounds, warmup

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "expected", "order"]

NAME = "interleaved_1f1b"
STAGES_PER_RANK: int | None = None
PLACEMENT: Literal["loop", "v"] = "loop"


def expected(shape: Shape) -> str:
    """Return what is expected of the number of microbatches; nothing where it is so."""
    return divides(shape)


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    first = warmup(shape, rank, 2)
    steady = shape.microbatches * shape.stages_per_rank - first
    counts = (first, 2 * steady, first)
    kind = np.repeat(np.array([Kind.F, Kind.F, Kind.B], np.int64), counts)
    kind[first + 1 : first + 2 * steady : 2] = Kind.B
    return in_rounds(kind, shape, rank)
