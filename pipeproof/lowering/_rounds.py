"""When each instruction is placed, if every rank places one a round once its needs are placed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeproof.ir.operations import IntArray

__all__ = ["NEVER", "READY", "Placed", "place"]

READY = -1
NEVER = -2


class Placed(NamedTuple):
    """`rounds[k]` is the round of item k; `stuck` is the first item that is not placed, or -1."""

    rounds: IntArray
    stuck: int


def place(ranks: IntArray, needs: Sequence[IntArray]) -> Placed:
    """Place the items of every rank, in order, one a round; ranks take turns from 0 on.

    An item waits for one item (READY: for none, NEVER: in vain) of each column of `needs`; what
    a lower rank places counts in the same round, what others place in the next. Where nothing
    more is placed the rest follows without waiting, one a round.

    Linear in the items.
    """
    total = len(ranks)
    at = [READY] * total  # the round of each item
    columns = [column.tolist() for column in needs]
    lower = [(ranks[np.maximum(column, 0)] >= ranks).tolist() for column in needs]
    width = int(ranks.max(initial=-1)) + 1
    bounds = np.searchsorted(ranks, np.arange(width + 1)).tolist()
    next_, ends, last = bounds[:-1], bounds[1:], [-1] * width
    waiting: dict[int, list[int]] = {}
    work = list(range(width))[::-1]
    while work:
        rank = work.pop()
        item, round_ = next_[rank], last[rank]
        while item < ends[rank]:
            when = round_ + 1
            blocked = READY
            for column, later in zip(columns, lower, strict=True):
                need = column[item]
                if need == READY:
                    continue
                if need == NEVER or at[need] < 0:
                    blocked = need
                    break
                when = max(when, at[need] + later[item])
            if blocked != READY:
                if blocked >= 0:
                    waiting.setdefault(blocked, []).append(rank)
                break
            at[item] = round_ = when
            if item in waiting:
                work.extend(waiting.pop(item))
            item += 1
        next_[rank], last[rank] = item, round_
    return _finish(at, next_, ends)


def _finish(at: list[int], next_: list[int], ends: list[int]) -> Placed:
    """Place what is left, one item a rank and round, from the round after the last."""
    stuck = min((n for n, end in zip(next_, ends, strict=True) if n < end), default=-1)
    if stuck >= 0:
        first = max(at) + 1
        for low, end in zip(next_, ends, strict=True):
            for item in range(low, end):
                at[item] = first + item - low
    return Placed(np.asarray(at, np.int64), stuck)
