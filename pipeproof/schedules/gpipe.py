"""GPipe: all forwards, then all backwards.

The option `backward` says in which order: `ascending` as torch runs them, `descending` as the
paper draws them.

Source: Huang et al., GPipe, arXiv:1811.06965, figure 2; torch 2.13.0,
`torch/distributed/pipelining/schedules.py`, `ScheduleGPipe`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape, Step, backwards_descend, in_turn, repeat

__all__ = ["NAME", "OPTIONS", "PLACEMENT", "STAGES_PER_RANK", "order"]

NAME = "gpipe"
STAGES_PER_RANK: int | None = 1
PLACEMENT: Literal["loop", "v"] = "loop"
OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({"backward": ("ascending", "descending")})


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    n = shape.microbatches
    found = in_turn(repeat(n, Step(Kind.F, rank)), repeat(n, Step(Kind.B, rank)))
    return backwards_descend(found, n) if shape.options["backward"] == "descending" else found
