"""Guards as the explorer runs them: states, eager steps, and what moves only at quiescence."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeproof.engines._explore_budget import Spent
from pipeproof.errors import InternalError
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.weak import movable

__all__ = ["System", "Walk", "bits_of", "choices", "events_of", "require_reducible"]

_STEPS = 512  # between two looks at the budget


def bits_of(events: Iterable[int], size: int) -> int:
    """Return a state as an integer: bit e is set if event e has happened."""
    flags = np.zeros(size, np.bool_)
    flags[np.fromiter(events, np.int64)] = True
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def events_of(state: int, size: int) -> list[int]:
    """Return the events that have happened in a state."""
    raw = np.frombuffer(state.to_bytes((size + 7) // 8, "little"), np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(raw, bitorder="little")).tolist()
    return found


@dataclass(frozen=True, slots=True)
class Threshold:
    """`drained[n]` waits until fewer than `capacity` of `arrived[:n]` are missing."""

    drained: tuple[int, ...]
    arrived: tuple[int, ...]
    capacity: int


class System:
    """The guards of one graph of a model.

    Numbers from `events` on are gates: they open by themselves, and no state holds them. An event
    in `held` moves only while ranks stand in calls, so its guard is negated on what makes them
    leave; such events are no eager steps. Without `weak` they move like all others.
    """

    def __init__(self, model: Model, graph: Graph, *, weak: bool) -> None:
        self.model = model
        self.events = model.events
        self.size = graph.size
        self.before: list[list[int]] = [[] for _ in range(graph.size)]
        self.after: list[list[int]] = [[] for _ in range(graph.size)]
        for left, right in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
            self.before[right].append(left)
            self.after[left].append(right)
        self.never = frozenset(np.flatnonzero(graph.never).tolist())
        self.thresholds = tuple(
            Threshold(tuple(c.drained.tolist()), tuple(c.arrived.tolist()), c.capacity)
            for c in graph.credits
        )
        self.held = frozenset(np.flatnonzero(graph.held).tolist() if weak else ())
        self.negated = dict.fromkeys(self.held, range(model.frame.first_transfer))
        self.deferred = self.held
        self.require_reducible()

    def require_reducible(self) -> None:
        """Refuse an eager step whose guard an eager step could make false.

        Deterministic steps may run at once only where none takes another's chance away; a guard
        that is negated on what eager steps change has to be looked at where they rest.

        Raises:
            InternalError: there is one; the reduction would leave executions out.
        """
        require_reducible(self.negated, self.deferred)

    @cached_property
    def limits(self) -> dict[int, tuple[Threshold, int]]:
        """The threshold that a send stands in, and its position there."""
        return {e: (t, n) for t in self.thresholds for n, e in enumerate(t.drained)}

    @cached_property
    def counted(self) -> dict[int, list[tuple[int, int]]]:
        """The thresholds that an arrival counts for, by number, and its position there."""
        found: dict[int, list[tuple[int, int]]] = {}
        for number, threshold in enumerate(self.thresholds):
            for position, event in enumerate(threshold.arrived):
                found.setdefault(event, []).append((number, position))
        return found

    def is_move(self, event: int) -> bool:
        """Whether an event is of a transfer, or a gate, and of no program."""
        return event >= self.model.frame.first_transfer

    def able_to_move(self, happened: Iterable[int]) -> frozenset[int]:
        """Return the held events of the transfers that may move in a quiescent state."""
        frame = self.model.frame
        flags = np.zeros(self.size, np.bool_)
        flags[np.fromiter(happened, np.int64)] = True
        transfers = movable(self.model, flags)
        return frozenset([*frame.drained(transfers).tolist(), *frame.arrived(transfers).tolist()])


def choices(system: System, state: int) -> tuple[int, ...]:
    """Return the choice steps of a quiescent state; a model has none, all its guards decide."""
    del system, state
    return ()


def require_reducible(negated: Mapping[int, Iterable[int]], deferred: Collection[int]) -> None:
    """Refuse a step that is not deferred and whose guard is negated on such steps.

    Args:
        negated: for each step what must not have happened, or not all of it, when it is taken.
        deferred: the steps that are taken only where no other can be.

    Raises:
        InternalError: there is one.
    """
    for event, counters in negated.items():
        if event not in deferred and any(each not in deferred for each in counters):
            message = f"event {event} is eager and its guard is negated on eager steps"
            raise InternalError(message)


class Walk:
    """One run through a system from a state: eager steps to quiescence, then what is held.

    `trail` lists what happens, gates too, first come first served; `phase` numbers the stretches
    between quiescent states. Only events among `within` happen, if it is given, and none of
    `forbidden`.
    """

    def __init__(
        self,
        system: System,
        *,
        happened: Iterable[int] = (),
        within: frozenset[int] | set[int] | None = None,
        forbidden: Iterable[int] = (),
    ) -> None:
        self.system = system
        self.trail: list[int] = []
        self.phase: dict[int, int] = {}
        self.happened = bytearray(system.size)
        self._within = within
        self._barred = bytearray(system.size)
        for event in (*system.never, *forbidden):
            self._barred[event] = 1
        self._waiting = [len(each) for each in system.before]
        for threshold in system.thresholds:
            for event in threshold.drained:
                self._waiting[event] += 1
        self._granted = [0] * len(system.thresholds)
        self._missing = [0] * len(system.thresholds)
        self._parked: list[int] = []
        self._ready: deque[int] = deque()
        self._turn = 0
        self._start(list(happened))

    def run(self, spent: Spent | None = None) -> bool:
        """Run until nothing more can happen; return whether the budget lasted."""
        while True:
            if not self._rest(spent):
                return False
            if not self._move():
                return True

    @property
    def order(self) -> list[int]:
        """The events that have happened in this run, in order."""
        return [e for e in self.trail if e < self.system.events]

    @property
    def state(self) -> list[int]:
        """The events that have happened, gates not counted."""
        return [e for e in range(self.system.events) if self.happened[e]]

    def unmet(self, number: int, position: int) -> bool:
        """Whether a send of a threshold still waits for its credit."""
        return position >= self._granted[number]

    def _start(self, happened: list[int]) -> None:
        later = [e for e, n in enumerate(self._waiting) if n == 0 and not self._barred[e]]
        for number in range(len(self.system.thresholds)):
            later += self._grant(number)
        known = set(happened)
        for event in happened:
            self.happened[event] = 1
            later += self._freed(event)
        for event in later:  # it grows: a gate that is open from the start may open others
            if event >= self.system.events:
                self.happened[event] = 1
                self.trail.append(event)
                later += self._freed(event)
            elif event not in known:
                self._queue(event)

    def _queue(self, event: int) -> None:
        (self._parked if event in self.system.held else self._ready).append(event)

    def _rest(self, spent: Spent | None) -> bool:
        """Take eager steps until none is left."""
        count = 0
        while self._ready:
            self._happen(self._ready.popleft())
            count += 1
            if count == _STEPS and spent is not None:
                if not spent.allows(count):
                    return False
                count = 0
        return spent is None or spent.allows(count)

    def _happen(self, event: int) -> None:
        if not self._take(event):
            return
        for each in self._freed(event):
            self._queue(each)

    def _take(self, event: int) -> bool:
        gate = event >= self.system.events
        if self.happened[event] or not (gate or self._within is None or event in self._within):
            return False
        self.happened[event] = 1
        self.phase[event] = self._turn
        self.trail.append(event)
        return True

    def _freed(self, event: int) -> Iterator[int]:
        """Yield what waits for nothing more once `event` has happened."""
        for each in self.system.after[event]:
            self._waiting[each] -= 1
            if not self._waiting[each] and not self._barred[each]:
                yield each
        for number, position in self.system.counted.get(event, ()):
            if position < self._granted[number]:
                self._missing[number] -= 1
                yield from self._grant(number)

    def _grant(self, number: int) -> Iterator[int]:
        """Yield the sends of a threshold that wait for nothing more, as far as credits go."""
        threshold = self.system.thresholds[number]
        while self._granted[number] < len(threshold.drained):
            if self._missing[number] >= threshold.capacity:
                return
            position = self._granted[number]
            self._granted[number] += 1
            self._missing[number] += not self.happened[threshold.arrived[position]]
            event = threshold.drained[position]
            self._waiting[event] -= 1
            if not self._waiting[event] and not self._barred[event]:
                yield event

    def _move(self) -> bool:
        """At quiescence, move all that can move before any rank goes on."""
        if not self._parked:
            return False
        happened = [e for e in range(self.system.size) if self.happened[e]]
        able = self.system.able_to_move(happened)
        moving = [e for e in self._parked if e in able]
        if not moving:
            return False
        self._parked = [e for e in self._parked if e not in able]
        self._turn += 1
        for event in moving:  # it grows: what moves may free what stands behind it
            if not self._take(event):
                continue
            for each in self._freed(event):
                if self.system.is_move(each) and (each in able or each not in self.system.held):
                    moving.append(each)
                else:
                    self._queue(each)
        self._turn += 1
        return True
