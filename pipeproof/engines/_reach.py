"""Which event of a program comes first behind each event: for many programs and events at once."""

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import counted, distinct
from pipeproof.semantics.model import Graph

__all__ = ["NEVER", "Reach"]

NEVER = np.iinfo(np.int32).max


class _Steps(NamedTuple):
    """Guards between parts, the last ones first, each round of them from `bounds` to the next.

    A round leads from parts `here`, the k-th one along the guards from `edges[k]`, to `after`.
    """

    here: IntArray
    edges: IntArray
    after: IntArray
    bounds: tuple[int, ...]


class Reach:
    """What guards lead to, whether or not everything happens.

    Events that wait for each other are one part; between parts guards lead one way, so that each
    is gone through once.
    """

    def __init__(self, graph: Graph, chain: IntArray) -> None:
        """Make it; `chain` is the rank of an event of a program, and -1 of another one."""
        self._graph = graph
        self._chain = chain

    def first(self, ranks: IntArray) -> npt.NDArray[np.int32]:
        """Return for every event the first event of each rank that comes after it or is it."""
        part, steps = self._part, self._steps
        first = np.full((self._graph.size, len(ranks)), NEVER, np.int32)
        for column, rank in enumerate(ranks.tolist()):
            own = np.flatnonzero(self._chain == rank)[::-1]  # of one part, the first one stays
            first[own if part is None else part[own], column] = own
        for low, high in pairwise(steps.bounds):
            rows, edges = steps.here[low:high], steps.edges[low : high + 1]
            reached = np.minimum.reduceat(
                first[steps.after[edges[0] : edges[-1]]], edges[:-1] - edges[0], axis=0
            )
            first[rows] = np.minimum(first[rows], reached)
        return first if part is None else first[part]

    @cached_property
    def circular(self) -> npt.NDArray[np.bool_]:
        """Which events come before themselves, shape `(size,)`."""
        graph, found = self._graph, np.zeros(self._graph.size, np.bool_)
        found[graph.before[graph.before == graph.after]] = True
        if self._part is not None:
            members = np.bincount(self._part, minlength=graph.size)
            found |= members[self._part] > 1
        return found

    @cached_property
    def _level(self) -> IntArray:
        return self._rounds(self._graph.before, self._graph.after)

    @cached_property
    def _part(self) -> IntArray | None:
        """One event of the part of each event; None where each is a part of its own."""
        graph, left = self._graph, self._level < 0
        if not np.any(left):
            return None
        inner = left[graph.before] & left[graph.after]
        before, after = graph.before[inner], graph.after[inner]
        core = left & (self._rounds(after, before) < 0)
        inner = core[before] & core[after]
        return _parts(graph.size, before[inner], after[inner])

    def _rounds(self, before: IntArray, after: IntArray) -> IntArray:
        return _rounds(self._graph.size, before, after)

    @cached_property
    def _steps(self) -> _Steps:
        before, after, level = self._graph.before, self._graph.after, self._level
        if self._part is not None:
            before, after = self._part[before], self._part[after]
            across = before != after
            before, after = before[across], after[across]
            level = self._rounds(before, after)
        order = np.lexsort((before, -level[before]))
        before, after = before[order], after[order]
        fresh = np.flatnonzero(np.diff(before, prepend=-1) != 0)
        starts = np.flatnonzero(np.diff(level[before[fresh]], prepend=-1) != 0)
        edges = np.append(fresh, len(before))
        return _Steps(before[fresh], edges, after, (*starts.tolist(), len(fresh)))


def _rounds(size: int, before: IntArray, after: IntArray) -> IntArray:
    """Return the round in which each event has nothing left to wait for; -1 in and behind cycles.

    Only guards count, so that all is gone through that a run would leave.
    """
    order = np.argsort(before, kind="stable")
    following, bounds = after[order], np.searchsorted(before[order], np.arange(size + 1))
    waiting = np.bincount(after, minlength=size)
    level, now = np.full(size, -1, np.int64), 0
    events = np.flatnonzero(waiting == 0)
    while len(events):
        level[events] = now
        now += 1
        low, number = bounds[events], bounds[events + 1] - bounds[events]
        first = np.repeat(low - np.cumsum(number) + number, number)
        freed, times = counted(following[first + np.arange(len(first))])
        waiting[freed] -= times
        events = freed[waiting[freed] == 0]
    return level


def _parts(size: int, before: IntArray, after: IntArray) -> IntArray:
    """Return one event of the strong component of each event (Tarjan 1972, iterative)."""
    order = np.argsort(before, kind="stable")
    following = after[order].tolist()
    bounds = np.searchsorted(before[order], np.arange(size + 1)).tolist()
    part, index, low, at = [*range(size)], [0] * size, [0] * size, bounds[:-1]
    stack: list[int] = []
    number = 0
    for root in distinct(before).tolist():
        path = [] if index[root] else [root]
        while path:
            event = path[-1]
            if not index[event]:
                number += 1
                index[event] = low[event] = number
                stack.append(event)
            if at[event] < bounds[event + 1]:
                other = following[at[event]]
                at[event] += 1
                if not index[other]:
                    path.append(other)
                low[event] = min(low[event], low[other] or size)
                continue
            path.pop()
            if low[event] == index[event]:
                _close(event, stack, part, low)
            if path:
                low[path[-1]] = min(low[path[-1]], low[event])
    return np.asarray(part, np.int64)


def _close(event: int, stack: list[int], part: list[int], low: list[int]) -> None:
    """Take the component of `event` from the stack; it counts for no other one."""
    member = -1
    while member != event:
        member = stack.pop()
        part[member], low[member] = event, len(low) + 1
