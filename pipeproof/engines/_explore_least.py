"""The shortest run to an event: what its guards ask for, and the fewest arrivals that do."""

from collections.abc import Collection, Iterable, Iterator
from heapq import heappop, heappush

from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_guards import System, Walk

__all__ = ["LeastSets", "behind", "phased", "shortest"]

_TRIES = 2000  # sets of events that are looked at for one run
_DROPS = 200  # events that are left out for trial where there are more


def behind(system: System, events: Iterable[int]) -> set[int]:
    """Return what the guards put strictly before one of `events`, gates too.

    Thresholds are no part of it: they ask for some of several.
    """
    seen: set[int] = set()
    front = list(events)
    while front:
        for each in system.before[front.pop()]:
            if each not in seen:
                seen.add(each)
                front.append(each)
    return seen


def _closed(system: System, events: Collection[int]) -> frozenset[int]:
    """Return events and what the guards put before them, without gates."""
    found = behind(system, events).union(events)
    return frozenset(e for e in found if e < system.events)


class LeastSets:
    """Sets of events that can happen with all of some targets and nothing else, least first.

    All that are minimal, unless it stops early: then `complete` is false. A set that is stuck
    lacks a credit, so whatever can go on from it has an arrival that it lacks; each is tried.
    """

    def __init__(
        self,
        system: System,
        targets: Collection[int],
        allowed: Collection[int],
        spent: Spent | None = None,
    ) -> None:
        self.complete = False
        self._spent = spent
        self._system = system
        self._allowed = frozenset(allowed)
        self._seen: set[frozenset[int]] = set()
        self._heap: list[tuple[int, list[int], frozenset[int]]] = []
        self._push(_closed(system, targets))

    def __iter__(self) -> Iterator[frozenset[int]]:
        for _ in range(_TRIES):
            if not self._heap:
                self.complete = True
                return
            if self._spent is not None and not self._spent.allows_trial(self._system.size):
                return
            _, _, events = heappop(self._heap)
            walk = Walk(self._system, within=events)
            walk.run()
            if len(walk.order) == len(events):
                yield events
                continue
            for arrival in self._lacking(events, walk):
                self._push(events | _closed(self._system, (arrival,)))

    def _push(self, events: frozenset[int]) -> None:
        if events not in self._seen and events <= self._allowed:
            self._seen.add(events)
            heappush(self._heap, (len(events), sorted(events), events))

    def _lacking(self, events: frozenset[int], walk: Walk) -> set[int]:
        """Return the arrivals that would bring a send of `events` nearer to its credit."""
        found: set[int] = set()
        for number, threshold in enumerate(self._system.thresholds):
            for position, event in enumerate(threshold.drained):
                if event in events and walk.unmet(number, position):
                    found.update(threshold.arrived[:position])
        return found - events


def shortest(system: System, targets: Collection[int], allowed: Collection[int]) -> list[int]:
    """Return the fewest events of `allowed` that lead to all targets, in an order that can happen.

    Where some target cannot be reached, what can happen of their pasts.
    """
    needed: Collection[int] = behind(system, targets).union(targets)
    if system.thresholds and set(targets) <= set(allowed):
        found = next(iter(LeastSets(system, targets, allowed)), frozenset[int]())
        needed = found or _short(system, targets, allowed)
    walk = Walk(system, within=frozenset(needed).intersection(allowed))
    walk.run()
    return walk.order


def _short(system: System, targets: Collection[int], allowed: Collection[int]) -> list[int]:
    """Return a run to the targets from which some events have been left out for trial."""
    needed = _until(system, targets, frozenset(allowed))
    for event in needed[: -_DROPS - 1 : -1]:
        fewer = _until(system, targets, frozenset(needed) - {event})
        needed = fewer or needed
    return needed


def _until(system: System, targets: Collection[int], within: frozenset[int]) -> list[int]:
    """Return a run that ends with the last of the targets; nothing if one is not reached."""
    walk = Walk(system, within=within)
    walk.run()
    order = walk.order
    last = [n for n, event in enumerate(order) if event in targets]
    return order[: last[-1] + 1] if len(last) == len(set(targets)) else []


def phased(system: System, late: Walk, targets: Collection[int], forbidden: int) -> list[int]:
    """Return a run to the targets where some messages move only at quiescence.

    Every stretch before the last of the targets runs to its end; of the stretch that it happens
    in, only what it needs, without what is forbidden where that can be.

    Args:
        system: the guards, where messages move whenever they can.
        late: all that happens where they move at quiescence only.
        targets: where to.
        forbidden: what had better not happen.
    """
    reached = [e for e in targets if late.happened[e]]
    if not reached:
        return []
    last = max(late.phase[e] for e in reached)
    base = [e for e in late.order if late.phase[e] < last]
    within = {e for e in late.order if late.phase[e] <= last}
    for allowed in (within - {forbidden}, within):
        needed = next(iter(LeastSets(system, {*base, *reached}, allowed)), frozenset[int]())
        if needed:
            break
    rest = Walk(system, happened=base, within=needed or within)
    rest.run()
    return [*base, *rest.order]
