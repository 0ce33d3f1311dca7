"""What may be live when a hold starts: for certain, and as long as other chains go no further."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipeproof.engines._smt_ask import Open
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Holds
from pipeproof.semantics.frame import Frame

__all__ = ["Moment", "moments"]


class Moment(NamedTuple):
    """The rows whose holds start at an event, what is surely live there, and what may be.

    The row is -1 at the end of a program that has no instruction.
    """

    rank: int
    event: int
    rows: tuple[int, ...]
    sure: int
    open: tuple[Open, ...]


def moments(frame: Frame, holds: Holds) -> Iterator[Moment]:
    """Yield each event at which holds start, rank by rank in program order.

    Most is live on a rank where it has just come to such an event: of its own program what stands
    before has happened then, and nothing else.
    """
    own = frame.chain[holds.ends] == holds.rank[holds.of]
    last = np.full(len(holds.start), -1, np.int64)
    np.maximum.at(last, holds.of[own], holds.ends[own])
    far: dict[int, list[int]] = {}
    for end, hold in zip(holds.ends[~own].tolist(), holds.of[~own].tolist(), strict=True):
        far.setdefault(hold, []).append(end)
    open_ = np.zeros(len(holds.start), np.bool_)
    open_[list(far)] = True
    endless = (last < 0) & ~open_
    for rank in range(frame.ranks):
        of_rank = holds.rank == rank
        for event in sorted(set(holds.start[of_rank].tolist())):
            begun = of_rank & (holds.start <= event)
            sure = begun & (endless | (last > event))
            maybe = np.flatnonzero(begun & open_ & (last <= event))
            rows = _rows(frame, holds, np.flatnonzero(of_rank & (holds.start == event)))
            found = (Open(int(holds.weight[k]), tuple(far[k])) for k in maybe.tolist())
            yield Moment(rank, event, rows, int(sum(holds.weight[sure])), tuple(found))


def _rows(frame: Frame, holds: Holds, chosen: IntArray) -> tuple[int, ...]:
    """Return the rows of holds; of one that starts with its rank, the first that stands there."""
    rows = set(holds.rows[chosen].tolist())
    start = int(holds.start[chosen[0]])
    if start < frame.ends:
        rows = {row if row >= 0 else int(frame.ops.first_row[start // 2]) for row in rows}
    return tuple(sorted(rows))
