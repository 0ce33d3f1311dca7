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
    ways = [_need(ranks, column) for column in needs]
    need, later = ways[0] if ways else ([READY] * total, [0] * total)
    others = _others(ways[1:])
    width = int(ranks.max(initial=-1)) + 1
    bounds = np.searchsorted(ranks, np.arange(width + 1)).tolist()
    next_, ends, last = bounds[:-1], bounds[1:], [-1] * width
    waiting: dict[int, list[int]] = {}
    work = list(range(width))[::-1]
    while work:
        rank = work.pop()
        item, round_, end = next_[rank], last[rank], ends[rank]
        while item < end:
            round_ += 1
            blocked = need[item]
            if blocked >= 0 and (there := at[blocked]) >= 0:
                if (there := there + later[item]) > round_:
                    round_ = there
                blocked = READY
            if blocked == READY and item in others:
                round_, blocked = _others_placed(others[item], at, round_)
            if blocked != READY:
                if blocked >= 0:
                    waiting.setdefault(blocked, []).append(rank)
                break
            at[item] = last[rank] = round_
            if item in waiting:
                work.extend(waiting.pop(item))
            item += 1
        next_[rank] = item
    return _finish(at, next_, ends)


def _need(ranks: IntArray, column: IntArray) -> tuple[list[int], list[int]]:
    """Return a column of needs, and 1 where what is needed counts in the next round only."""
    later = (column >= 0) & (ranks[np.maximum(column, 0)] >= ranks)
    return column.tolist(), later.astype(np.int64).tolist()


def _others(ways: list[tuple[list[int], list[int]]]) -> dict[int, list[tuple[int, int]]]:
    """Return the further needs of the few items that have any."""
    found: dict[int, list[tuple[int, int]]] = {}
    for need, later in ways:
        for item, needed in enumerate(need):
            if needed != READY:
                found.setdefault(item, []).append((needed, later[item]))
    return found


def _others_placed(needs: list[tuple[int, int]], at: list[int], round_: int) -> tuple[int, int]:
    """Return the round in which further needs allow an item, and the need that is not placed."""
    for need, later in needs:
        if need == NEVER or at[need] < 0:
            return round_, need
        round_ = max(round_, at[need] + later)
    return round_, READY


def _finish(at: list[int], next_: list[int], ends: list[int]) -> Placed:
    """Place what is left, one item a rank and round, from the round after the last."""
    stuck = min((n for n, end in zip(next_, ends, strict=True) if n < end), default=-1)
    if stuck >= 0:
        first = max(at) + 1
        for low, end in zip(next_, ends, strict=True):
            for item in range(low, end):
                at[item] = first + item - low
    return Placed(np.asarray(at, np.int64), stuck)
