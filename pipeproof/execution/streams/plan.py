"""Which stream each event of an execution takes, and for which others it waits.

Every rank has a stream for what it computes, in the order of its program, and streams for what it
copies. A copy takes one whose copies before it come first anyway, else a new one: no stream adds
to the order that the schedule has. What comes first on other streams is waited for.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeproof.execution.orders import Guards

__all__ = ["Lane", "Launch", "Moment", "planned"]

_Clock = dict[int, int]


class Lane(NamedTuple):
    """Where an event takes place: on the stream of a rank's program, or where it copies."""

    rank: int
    copies: bool = False


class Moment(NamedTuple):
    """An event: its number, where it takes place, and events beside the guards that come first."""

    event: int
    lane: Lane
    behind: tuple[int, ...] = ()


class Launch(NamedTuple):
    """An event that a stream is given, behind others, which `waits` names.

    `awaited` says that others wait for it.
    """

    event: int
    lane: Lane
    stream: int
    waits: tuple[int, ...]
    awaited: bool = False


class _Plan:
    """Streams as they fill; a clock says how far each stream has come before something."""

    def __init__(self, guards: Guards) -> None:
        order = np.argsort(guards.after, kind="stable")
        self._before = guards.before[order]
        self._first = np.searchsorted(guards.after[order], np.arange(guards.size + 1))
        self._size = guards.size
        self._credits = {
            int(event): (credit, n)
            for credit in guards.credits
            for n, event in enumerate(credit.drained)
        }
        self._gates: dict[int, _Clock] = {}
        self._clocks: list[_Clock] = []
        self.events: list[list[int]] = []
        self.places: dict[int, tuple[int, int]] = {}
        self.lanes: dict[Lane, list[int]] = {}

    def add(self, moment: Moment) -> Launch:
        """Give an event to a stream."""
        needed = self._needed((*self._guards(moment.event), *moment.behind))
        stream = self._stream(moment.lane, needed)
        clock = self._clocks[stream]
        late = {s: n for s, n in needed.items() if s != stream and n > clock.get(s, -1)}
        waits = tuple(self.events[s][n] for s, n in sorted(late.items()))
        _merge(clock, needed)
        place = len(self.events[stream])
        self.events[stream].append(moment.event)
        self.places[moment.event] = stream, place
        clock[stream] = place
        self._gates[moment.event] = dict(clock)
        return Launch(moment.event, moment.lane, stream, waits)

    def _guards(self, event: int) -> tuple[int, ...]:
        if not 0 <= event < self._size:
            return ()
        return tuple(self._before[self._first[event] : self._first[event + 1]].tolist())

    def _needed(self, events: Iterable[int]) -> _Clock:
        """Return how far each stream has come before something that comes behind events."""
        needed: _Clock = {}
        for event in events:
            _merge(needed, self._clock(event))
        return needed

    def _clock(self, event: int) -> _Clock:
        """Return the clock behind an event, or behind a gate: where all it waits for has come."""
        if event not in self._gates:
            self._gates[event] = self._needed(self._guards(event))
        return self._gates[event]

    def room(self, event: int) -> tuple[int, ...]:
        """Return the receives that make room for a message, the earliest of them."""
        if event not in self._credits:
            return ()
        credit, n = self._credits[event]
        short = n - credit.capacity + 1
        there = [int(each) for each in credit.arrived[:n] if int(each) in self.places]
        order = {each: place for place, each in enumerate(self.places)}
        return tuple(sorted(there, key=order.__getitem__)[: max(short, 0)])

    def _stream(self, lane: Lane, needed: _Clock) -> int:
        """Return the stream of a lane on which nothing stands that does not come first anyway."""
        streams = self.lanes.setdefault(lane, [])
        for stream in streams:
            if not lane.copies or needed.get(stream, -1) >= len(self.events[stream]) - 1:
                return stream
        self.events.append([])
        self._clocks.append({})
        streams.append(len(self.events) - 1)
        return streams[-1]


def _merge(clock: _Clock, other: Mapping[int, int]) -> None:
    for stream, place in other.items():
        clock[stream] = max(place, clock.get(stream, -1))


def planned(guards: Guards, moments: Sequence[Moment], *, forced: bool = False) -> list[Launch]:
    """Return what streams are given, in the order in which it is.

    Args:
        guards: what each event waits for.
        moments: events in an order in which they may happen.
        forced: whether each event also waits for the one before it, so that no other order is
            possible.
    """
    plan = _Plan(guards)
    chain: dict[int, tuple[int, ...]] = {}
    if forced:
        chain = {late.event: (early.event,) for early, late in pairwise(moments)}
    made = []
    for moment in moments:
        behind = (*moment.behind, *chain.get(moment.event, ()), *plan.room(moment.event))
        made.append(plan.add(moment._replace(behind=behind)))
    awaited = {event for launch in made for event in launch.waits}
    return [launch._replace(awaited=launch.event in awaited) for launch in made]
