"""The most that is live on a rank in any interleaving."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.engines._order import NEVER, HappensBefore
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Holds
from pipeproof.semantics.frame import Frame

__all__ = ["Moments", "Peak", "moments", "overfull", "peaks"]


class Peak(NamedTuple):
    """The most of one kind that is live on a rank at once: their number and their weight."""

    rank: int
    kind: str
    number: int
    weight: int


class Moments(NamedTuple):
    """When each hold starts and, at the latest, is over: events of its rank's program."""

    start: IntArray
    over: IntArray


def moments(order: HappensBefore, holds: Holds) -> Moments:
    """Return for each hold its start and the first event of its program that follows its end.

    All starts of a rank's holds lie on its program. In the least state that reaches such a start
    a hold is over exactly if all its ends come before it in every execution; so the largest sum
    over these states is the most that any interleaving holds.
    """
    frame = order.frame
    own = frame.chain[holds.ends] == holds.rank[holds.of]
    over = np.full(len(holds.start), -1, np.int64)
    np.maximum.at(over, holds.of[own], holds.ends[own])
    far, of = holds.ends[~own], holds.of[~own]
    np.maximum.at(over, of, order.first_after(far, holds.rank[of], over[of]))
    return Moments(holds.start, np.where(over < 0, NEVER, over))


def live(
    frame: Frame, holds: Holds, when: Moments, chosen: npt.NDArray[np.bool_]
) -> tuple[IntArray, IntArray, npt.NDArray[np.object_]]:
    """Return the starts of the chosen holds in order, and what is live with each: number, weight.

    What holds on nothing before its rank has an instruction is taken as its first.
    """
    start, over = when.start[chosen], when.over[chosen]
    rank, weight = holds.rank[chosen], holds.weight[chosen]
    size = int(NEVER) + 2
    begin, end = rank * size + start, rank * size + over
    order, ended = np.argsort(begin, kind="stable"), np.argsort(end, kind="stable")
    moment = begin[order]
    started = np.searchsorted(moment, moment, side="right")
    gone = np.searchsorted(end[ended], moment, side="right")
    base = np.searchsorted(rank[order], rank[order])
    gone_base = np.searchsorted(rank[ended], rank[order])
    sums = np.concatenate(([0], np.cumsum(weight[order])))
    lost = np.concatenate(([0], np.cumsum(weight[ended])))
    number = (started - base) - (gone - gone_base)
    total = (sums[started] - sums[base]) - (lost[gone] - lost[gone_base])
    return np.flatnonzero(chosen)[order], number, total


def peaks(order: HappensBefore, holds: Holds) -> tuple[Peak, ...]:
    """Return the most of each kind that each rank holds at once, and of all (`everything`)."""
    when = moments(order, holds)
    found = []
    for number, kind in enumerate((*holds.kinds, "everything")):
        chosen = holds.kind == number
        if kind == "everything":
            chosen = np.ones(len(holds.kind), np.bool_)
        at, count, weight = live(order.frame, holds, when, chosen)
        rank = holds.rank[at]
        for each in range(order.frame.ranks):
            own = rank == each
            if np.any(own):
                most = int(count[own].max())
                found.append(Peak(each, kind, most, int(max(weight[own]))))
    return tuple(sorted(found))


def overfull(order: HappensBefore, holds: Holds) -> list[tuple[int, int, int]]:
    """Return where more than the bound may be live: rank, row at whose start it is, and how much.

    Where it is exceeded before the first instruction of a rank, that is the row; -1 for a rank
    without any.
    """
    bound = holds.bound
    assert bound is not None  # noqa: S101  asked only where there is one
    everything = np.ones(len(holds.start), np.bool_)
    at, _, weight = live(order.frame, holds, moments(order, holds), everything)
    wrong = np.asarray(weight > bound, np.bool_)
    first, most = order.frame.ops.first_row, dict[tuple[int, int], int]()
    for hold, amount in zip(at[wrong].tolist(), weight[wrong].tolist(), strict=True):
        row, start = int(holds.rows[hold]), int(holds.start[hold])
        if row < 0 and start < order.frame.ends:
            row = int(first[start // 2])
        most[int(holds.rank[hold]), row] = int(amount)
    return [(rank, row, amount) for (rank, row), amount in sorted(most.items())]
