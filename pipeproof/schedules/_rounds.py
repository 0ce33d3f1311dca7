"""What the interleaved schedules share: rounds, in which a rank visits each of its stages.

Source: torch 2.13.0, `torch/distributed/pipelining/schedules.py`, `_get_1f1b_rank_ops`,
`_get_warmup_ops`.
"""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.schedules._order import Order, Shape

__all__ = ["divides", "in_rounds", "warmup"]


def _rounds(shape: Shape) -> int:
    return max(1, shape.microbatches // shape.ranks)


def divides(shape: Shape) -> str:
    """Return what is expected of the microbatches: whole rounds; nothing where it is so."""
    rounds = _rounds(shape)
    return f"write a multiple of the {rounds} rounds" if shape.microbatches % rounds else ""


def warmup(shape: Shape, rank: int, per_hop: int) -> int:
    """Return how many forwards `rank` runs first, `per_hop` more for each rank behind it."""
    per_round = shape.microbatches // _rounds(shape)
    hops = shape.ranks - 1 - rank
    first = (shape.stages_per_rank - 1) * per_round + per_hop * hops
    return min(first, shape.microbatches * shape.stages_per_rank)


def in_rounds(kind: IntArray, shape: Shape, rank: int) -> Order:
    """Return the order with these kinds: forwards ascend through the stages, the others descend.

    The k-th of a kind belongs to a round, in it to a stage, and there to a microbatch.
    """
    per_round, chunks = shape.microbatches // _rounds(shape), shape.stages_per_rank
    number = np.empty(len(kind), np.int64)
    for each in (Kind.F, Kind.B, Kind.I, Kind.W):
        at = kind == each
        number[at] = np.arange(np.count_nonzero(at))
    part, within = np.divmod(number, per_round)
    turn, chunk = np.divmod(part, chunks)
    chunk = np.where(kind == Kind.F, chunk, chunks - 1 - chunk)
    joined = np.zeros(len(kind), np.bool_)
    return Order(kind, chunk * shape.ranks + rank, turn * per_round + within, joined)
