"""The furthest execution: everything that can happen happens, round by round."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, counted
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.weak import movable

__all__ = ["Run", "run"]


class Run(NamedTuple):
    """The furthest execution: `level[e]` is the round in which event e happens, -1 if never."""

    level: IntArray

    @property
    def happened(self) -> npt.NDArray[np.bool_]:
        """Which events happen, shape `(size,)`."""
        return np.asarray(self.level >= 0)

    def order(self, events: IntArray) -> IntArray:
        """Return `events` in an order in which they can happen."""
        return events[np.lexsort((events, self.level[events]))]


class _Sweep:
    """One greedy run, round by round: everything that can happen happens."""

    def __init__(self, model: Model, graph: Graph) -> None:
        self.model, self.graph = model, graph
        order = np.argsort(graph.before, kind="stable")
        self.next = graph.after[order]
        self.bounds = np.searchsorted(graph.before[order], np.arange(graph.size + 1))
        self.waiting = np.bincount(graph.after, minlength=graph.size) + graph.never
        self.granted = [min(credit.capacity, len(credit.drained)) for credit in graph.credits]
        for credit, granted in zip(graph.credits, self.granted, strict=True):
            self.waiting[credit.drained[granted:]] += 1
        self.level = np.full(graph.size, -1, np.int64)
        self.round = 0

    def run(self) -> Run:
        ready = np.flatnonzero(self.waiting == 0)
        while True:
            parked = ready[self.graph.held[ready]]
            ready = ready[~self.graph.held[ready]]
            while len(ready):
                ready, more = self._happen(ready)
                parked = np.concatenate((parked, more))
            ready = self._move_weak()
            if not len(ready):
                return Run(self.level)

    def _happen(self, events: IntArray) -> tuple[IntArray, IntArray]:
        """Let events happen; return those that then can, and those that are held back."""
        after = self._step(events)
        held = self.graph.held[after]
        return after[~held], after[held]

    def _step(self, events: IntArray) -> IntArray:
        self.level[events] = self.round
        self.round += 1
        low, high = self.bounds[events], self.bounds[events + 1]
        counts = high - low
        first = np.repeat(low - np.cumsum(counts) + counts, counts)
        after, times = counted(self.next[first + np.arange(len(first))])
        self.waiting[after] -= times
        free = after[self.waiting[after] == 0]
        return np.concatenate((free, self._grant(events))) if self.graph.credits else free

    def _grant(self, events: IntArray) -> IntArray:
        """Return the sends whose credit came free with `events`."""
        freed = [np.zeros(0, np.int64)]
        for number, credit in enumerate(self.graph.credits):
            if not np.any(among(credit.arrived, events)):
                continue
            missing = np.flatnonzero(self.level[credit.arrived] < 0)
            enough = len(missing) >= credit.capacity
            until = int(missing[credit.capacity - 1]) + 1 if enough else len(credit.drained)
            sends = credit.drained[self.granted[number] : until]
            self.granted[number] = max(until, self.granted[number])
            self.waiting[sends] -= 1
            freed.append(sends[self.waiting[sends] == 0])
        return np.concatenate(freed)

    def _move_weak(self) -> IntArray:
        """When nothing else can happen, move what both ranks stand in a call for.

        All that then can move does, also behind it in a queue, before any rank goes on.
        """
        ready = np.zeros(0, np.int64)
        if not len(self.model.weak):
            return ready
        frame = self.model.frame
        transfers = movable(self.model, self.level >= 0)
        allowed = ~self.graph.held
        allowed[frame.drained(transfers)] = allowed[frame.arrived(transfers)] = True
        now = np.concatenate((frame.drained(transfers), frame.arrived(transfers)))
        now = now[(self.waiting[now] == 0) & (self.level[now] < 0)]
        while len(now):
            after = self._step(now)
            after = after[allowed[after]]
            moves = (after >= frame.first_transfer) & (after < self.graph.size)
            ready, now = np.concatenate((ready, after[~moves])), after[moves]
        return ready


def run(model: Model, graph: Graph, *, rounds: bool = False) -> Run:
    """Return the furthest execution; with monotone guards all executions end there.

    Linear in events and guards: one pass where lowering left an order in which everything can
    happen, else in numpy rounds, as many as the longest path. With `rounds` always the latter, so
    that levels are as few as can be.
    """
    guessed = None if rounds else _as_guessed(model, graph)
    return guessed or _Sweep(model, graph).run()


def _as_guessed(model: Model, graph: Graph) -> Run | None:
    """Return the order that lowering left as the run, if it satisfies every guard."""
    plain = graph.size == model.events and not graph.credits and not len(model.weak)
    moment = model.frame.guess if plain else None
    if moment is None or np.any(graph.never):
        return None
    return Run(moment) if np.all(moment[graph.before] < moment[graph.after]) else None
