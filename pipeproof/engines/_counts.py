"""How many events come before some others in every execution, for many of them at once."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pipeproof.engines._order import HappensBefore
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import distinct

__all__ = ["Counts"]

_FEW = 16  # questions that are left to a walk each
_COLUMNS = 32  # programs that are followed at once


class Counts:
    """Counts what comes before events of programs, once it has been asked for more than a few.

    Of several events of one program the last one counts: it has what comes before the others, and
    these, before it.
    """

    def __init__(self, order: HappensBefore, asked: Iterable[IntArray]) -> None:
        """Make it for sets of events, each ascending, that may be asked for."""
        self._order = order
        self._chain = order.frame.chain
        self._asked = {last for events in asked if (last := self._last(events))}
        self._known: dict[tuple[int, ...], int] = {}
        self._left = _FEW

    def of(self, events: IntArray) -> int | None:
        """Return the number of events strictly before one of `events`; None where walks do."""
        last = self._last(events)
        if last not in self._asked:
            return None
        if last not in self._known:
            self._left -= 1
            if self._left >= 0:
                return None
            self._count(next(each for each in self._batches if self._ranks(last) <= each))
        return self._known[last]

    def _last(self, events: IntArray) -> tuple[int, ...]:
        """Return the last event of each program; nothing where one is of none."""
        ranks = self._chain[events].tolist()
        if -1 in ranks:
            return ()
        return tuple(sorted(dict(zip(ranks, events.tolist(), strict=True)).values()))

    def _ranks(self, last: tuple[int, ...]) -> frozenset[int]:
        return frozenset(self._chain[list(last)].tolist())

    @cached_property
    def _batches(self) -> list[frozenset[int]]:
        """Ranks whose programs are followed at once, so that all of a question are together."""
        batches: list[frozenset[int]] = []
        for ranks in sorted({tuple(sorted(self._ranks(last))) for last in self._asked}):
            joined = batches[-1].union(ranks) if batches else frozenset(ranks)
            if batches and len(joined) <= _COLUMNS:
                batches[-1] = joined
            else:
                batches.append(frozenset(ranks))
        return batches

    def _count(self, batch: frozenset[int]) -> None:
        """Count for all that is asked of these programs, and of no other ones."""
        ranks = sorted(batch)
        first = self._order.reach.first(np.asarray(ranks))[: self._order.frame.events].T
        column = {rank: np.ascontiguousarray(each) for rank, each in zip(ranks, first, strict=True)}
        asked = [last for last in self._asked if self._ranks(last) <= batch]
        alone = np.asarray([last[0] for last in asked if len(last) == 1], np.int64)
        for rank in distinct(self._chain[alone]).tolist():
            own = alone[self._chain[alone] == rank]
            before = np.searchsorted(np.sort(column[rank]), own, side="right")
            before -= ~self._order.reach.circular[own]  # an event follows itself only in a cycle
            keys = ((event,) for event in own.tolist())
            self._known.update(zip(keys, before.tolist(), strict=True))
        self._known.update({last: self._before(last, column) for last in asked if len(last) > 1})

    def _before(self, last: tuple[int, ...], column: dict[int, npt.NDArray[np.int32]]) -> int:
        circular, seen = self._order.reach.circular, np.zeros(self._order.frame.events, np.bool_)
        for event in last:
            before = column[int(self._chain[event])] <= event
            before[event] = circular[event]
            seen |= before
        return int(np.count_nonzero(seen))
