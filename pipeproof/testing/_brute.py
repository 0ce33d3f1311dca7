"""What breaks a rule, by looking at every state of every interleaving of a small model.

Slow, short, and nothing like an engine: a state is the set of events that have happened, kept as
the bits of a number. It reads the same guards and relations as engines do.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from pipeproof.semantics.found import Finding, Needs, Spot
from pipeproof.semantics.logic import (
    HAPPENS_BEFORE,
    PROGRESS,
    Acyclic,
    All,
    AtMost,
    Axiom,
    Empty,
    Enforced,
    Never,
    Rel,
)
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.waiting import cycles

__all__ = ["Brute", "TooManyStatesError"]

_MOST = 400_000


class TooManyStatesError(Exception):
    """There are more states than are looked at."""


class _States:
    """Every state that can be reached under one system of guards."""

    def __init__(self, model: Model, graph: Graph) -> None:
        self.events = model.events
        self.graph = graph
        self._into: dict[int, list[int]] = {}
        for before, after in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
            self._into.setdefault(after, []).append(before)
        self._needs = [self._needed(event) for event in range(self.events)]
        self._counts = [
            (drained, _bits(credit.arrived[:number].tolist()), credit.capacity)
            for credit in graph.credits
            for number, drained in enumerate(credit.drained.tolist())
        ]
        self.all: frozenset[int] = frozenset()
        self.always: dict[int, int] = {}
        self.ends: set[int] = set()
        self._visit()

    def _needed(self, node: int) -> int | None:
        """Return what a node waits for, as bits; None where it waits for what never happens."""
        if self.graph.never[node]:
            return None
        found = 0
        for before in self._into.get(node, ()):
            needed = 1 << before if before < self.events else self._needed(before)
            if needed is None:
                return None
            found |= needed
        return found

    def able(self, state: int) -> Iterator[int]:
        """Yield the events that can happen next."""
        short = {
            drained
            for drained, arrivals, capacity in self._counts
            if (arrivals & ~state).bit_count() >= capacity
        }
        for event, needed in enumerate(self._needs):
            open_ = needed is not None and not state >> event & 1 and not needed & ~state
            if open_ and event not in short:
                yield event

    def _visit(self) -> None:
        seen, front = {0}, [0]
        while front:
            state = front.pop()
            following = [state | 1 << event for event in self.able(state)]
            if not following:
                self.ends.add(state)
            for other in following:
                if other not in seen:
                    seen.add(other)
                    front.append(other)
            if len(seen) > _MOST:
                raise TooManyStatesError
        self.all = frozenset(seen)
        for state in seen:
            for event in _listed(state):
                self.always[event] = self.always.get(event, state) & state

    def happened(self, state: int) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Return a state with its gates, shape `(size,)`."""
        found = np.zeros(self.graph.size, np.bool_)
        for node in range(self.graph.size):
            needed = self._needed(node) if node >= self.events else 1 << node
            found[node] = needed is not None and not needed & ~state
        return found


def _bits(events: Sequence[int]) -> int:
    return sum(1 << event for event in events)


def _listed(state: int) -> Iterator[int]:
    while state:
        low = state & -state
        yield low.bit_length() - 1
        state ^= low


class Brute:
    """Decides rules of one model; of faults and of weak communicators it tells nothing."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def progress(self) -> _States:
        """The states of what each event waits for."""
        return _States(self.model, self.model.graph(PROGRESS))

    @cached_property
    def order(self) -> _States:
        """The states of what is ordered in every execution."""
        return _States(self.model, self.model.graph(HAPPENS_BEFORE))

    @property
    def complete(self) -> bool:
        """Whether every event happens in every execution."""
        return self.progress.ends == {(1 << self.model.events) - 1}

    def cost(self, finding: Finding) -> int | None:
        """Count the events before the places of a finding in every execution; None if unreached."""
        starts = {spot.event for spot in finding.spots}
        if not starts or not starts <= self.order.always.keys():
            return None
        before = 0
        for event in starts:
            before |= self.order.always[event] & ~(1 << event)
        return before.bit_count()

    def reached(self, finding: Finding) -> bool:
        """Whether an execution reaches every place of a finding."""
        return all(spot.event in self.order.always for spot in finding.spots)

    def broken(self, axiom: Axiom) -> list[Finding]:
        """Return where an axiom does not hold.

        Raises:
            ValueError: it is one of those that are not told.
        """
        match axiom:
            case Empty(rel):
                return list(self.model.findings(rel).found)
            case Never(rel):
                found = self.model.findings(rel).found
                return [each for each in found if each.event in self.progress.always]
            case Enforced(rel):
                return self._unordered(self.model.needs(rel))
            case Acyclic(_, through):
                return self._stuck(collectives=through == "collectives")
            case AtMost(measure):
                return self._overfull(measure)
            case All(axioms):
                return [each for part in axioms for each in self.broken(part)]
            case _:
                message = f"{type(axiom).__name__} is not told by looking at every state"
                raise ValueError(message)

    def _unordered(self, needs: Needs) -> list[Finding]:
        found: dict[tuple[int, int], Finding] = {}
        for before, after, row in zip(
            needs.before.tolist(), needs.after.tolist(), needs.rows.tolist(), strict=True
        ):
            always = self.order.always.get(after, 0)
            if before < 0 or not always >> before & 1:
                found[after, row] = Finding((Spot(after, row),), {})
        return list(found.values())

    def _overfull(self, measure: Rel) -> list[Finding]:
        """Return the starts at which more is live, in some state, than the bound."""
        if not self.model.is_bounded(measure):
            return []
        holds = self.model.holds(measure)
        ends = [0] * len(holds.start)
        for event, hold in zip(holds.ends.tolist(), holds.of.tolist(), strict=True):
            ends[hold] |= 1 << event
        each = [*zip(holds.rank.tolist(), holds.start.tolist(), holds.rows.tolist(), strict=True)]
        found = []
        for rank, start, row in dict.fromkeys(each):
            begun = [k for k, (own, since, _) in enumerate(each) if own == rank and since <= start]
            live = (
                sum(int(holds.weight[k]) for k in begun if not ends[k] or ends[k] & ~state)
                for state in self.order.all
                if state >> start & 1
            )
            most = max(live, default=0)
            if most > (holds.bound or 0):
                found.append(Finding((self._place(start, row),), {}))
        return found

    def _place(self, start: int, row: int) -> Spot:
        """Return where a hold starts; what is there from the start, at the first instruction."""
        frame = self.model.frame
        if row < 0 and start < frame.ends:
            return Spot(start, int(frame.ops.first_row[start // 2]))
        return Spot(start, row)

    def _stuck(self, *, collectives: bool) -> list[Finding]:
        absent = self.model.findings(Rel("unentered")).found if collectives else ()
        if self.complete:
            return list(absent)
        (end,) = self.progress.ends  # guards are monotone: all executions end alike
        told = cycles(self.model, self.progress.happened(end))
        return [*absent, *(each.finding for each in told if each.collective == collectives)]
