"""1F1B: some forwards first, then one backward and one forward in turn.

The last rank runs as torch executes it. The order that torch 2.13.0 prints for it counts the
forwards from 1. Fewer microbatches than stages, which torch's constructor refuses, are taken.

Source: Narayanan et al., PipeDream, SOSP 2019, section 3.2; torch 2.13.0,
`torch/distributed/pipelining/schedules.py`, `Schedule1F1B._step_microbatches`.
"""

from typing import Literal

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape, Step, in_turn, repeat

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "order"]

NAME = "1f1b"
STAGES_PER_RANK: int | None = 1
PLACEMENT: Literal["loop", "v"] = "loop"


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    forward, backward = Step(Kind.F, rank), Step(Kind.B, rank)
    warmup = min(shape.microbatches, shape.ranks - rank)
    return in_turn(
        repeat(warmup, forward),
        repeat(shape.microbatches - warmup, backward, forward),
        repeat(warmup, backward),
    )
