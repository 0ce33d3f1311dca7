"""When everything happens at the earliest, if operations take as long as `costs` says.

Guards are monotone: no event gains by another's being late. So there is one execution in which
every event happens as early as it can in any, and it is found in one pass over the order.
"""

from bisect import bisect_left
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.actions import Kind
from pipeproof.ir.costs import Costs, costs_of, read_time, time_text
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import counted
from pipeproof.ir.values import ValueKind, kind_of, stage_of
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.relations.bounds import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pipeproof.semantics.found import Credit
    from pipeproof.semantics.frame import Frame
    from pipeproof.semantics.model import Graph

__all__ = [
    "NEVER",
    "TIMED",
    "Moments",
    "by_rounds",
    "carried",
    "durations",
    "execution",
    "first_makespan",
    "levels",
    "moments",
    "overtime",
]

NEVER = -1
_KINDS = ("F", "B", "I", "W", "R", "L")
_LARGEST = 2**62


class Moments(NamedTuple):
    """When each event happens at the earliest, in ticks from the start; NEVER if it does not.

    `at` has shape `(size,)`, gates included; `unit` ticks make a unit of time. Numbers are Python's
    where int64 is too small for them.
    """

    at: IntArray
    unit: int


def durations(frame: "Frame", costs: Costs) -> list[int]:
    """Return how long each event takes, in ticks, shape `(events,)`.

    An instruction takes what its operations take one after the other: a rank has one stream. A
    message takes `comm` of the stage whose value it carries, from when it can move: until it is
    drained where both ends meet, until it has arrived where it is copied out.
    """
    spent = [0] * frame.events
    ops = frame.ops
    for name in _KINDS:
        if not any(costs.ticks[name]):
            continue
        rows = np.flatnonzero(ops.is_kind(Kind[name]))
        ends = frame.done(rows).tolist()
        for end, stage in zip(ends, ops.stage[rows].tolist(), strict=True):
            spent[end] += costs.of(name, stage)
    if any(costs.ticks["comm"]):
        for transfer, ticks_ in carried(frame, costs.ticks["comm"]):
            spent[frame.first_transfer + 2 * transfer + (not frame.together)] += ticks_
    return spent


def carried(frame: "Frame", ticks: tuple[int, ...]) -> "Iterator[tuple[int, int]]":
    """Yield each transfer between ranks and how long it takes."""
    ops, pairing = frame.ops, frame.pairing
    anchor = np.where(pairing.send >= 0, pairing.send, pairing.receive)
    for transfer, row in enumerate(anchor.tolist()):
        if ops.rank[row] != ops.peer[row]:
            yield transfer, ticks[_stage(frame, row)] if len(set(ticks)) > 1 else ticks[0]


def _stage(frame: "Frame", row: int) -> int:
    """Return the stage whose value a message carries, else the first one of the rank it is of."""
    value = int(frame.ops.value[row])
    is_of_stage = value >= 0 and kind_of(value) in {ValueKind.F, ValueKind.B}
    if is_of_stage and stage_of(value) < frame.run.schedule.stages:
        return stage_of(value)
    rank, placement = int(frame.ops.rank[row]), frame.run.placement
    return placement.index(rank) if rank in placement else 0


def moments(frame: "Frame", graph: "Graph") -> Moments:
    """Return when each event happens at the earliest.

    Raises:
        UnsupportedFeatureError: a weak communicator moves messages only when all else stands still,
            so that being early is no gain there.
    """
    _refuse_weak(graph)
    costs = costs_of(frame.run.schedule)
    spent = durations(frame, costs)
    spent += [0] * (graph.size - len(spent))
    plain = not graph.credits and sum(spent) < _LARGEST
    return Moments(by_rounds(graph, spent) if plain else _by_time(graph, spent), costs.unit)


def _refuse_weak(graph: "Graph") -> None:
    if np.any(graph.held):
        message = "when messages of a weak communicator move is not a matter of time alone"
        raise UnsupportedFeatureError(message)


def levels(graph: "Graph") -> IntArray:
    """Return when each event happens at the earliest if each takes a tick, shape `(size,)`.

    NEVER for what does not. An event comes behind all that it waits for.
    """
    each = [1] * graph.size
    return _by_time(graph, each) if graph.credits else by_rounds(graph, each)


def by_rounds(graph: "Graph", spent: list[int]) -> IntArray:
    """Return when each event happens at the earliest if all takes as long as `spent` says.

    Guards are plain ones, without credits. They are gone through round by round: all that waits
    for nothing more, together.
    """
    takes = np.asarray(spent, np.int64)
    order = np.argsort(graph.before, kind="stable")
    after, bounds = (
        graph.after[order],
        np.searchsorted(graph.before[order], np.arange(graph.size + 1)),
    )
    waiting = np.bincount(graph.after, minlength=graph.size) + graph.never
    ready, at = np.zeros(graph.size, np.int64), np.full(graph.size, NEVER, np.int64)
    events = np.flatnonzero(waiting == 0)
    while len(events):
        at[events] = ready[events] + takes[events]
        low, counts = bounds[events], bounds[events + 1] - bounds[events]
        first = np.repeat(low - np.cumsum(counts) + counts, counts)
        following = after[first + np.arange(len(first))]
        np.maximum.at(ready, following, np.repeat(at[events], counts))
        once, times = counted(following)
        waiting[once] -= times
        events = once[waiting[once] == 0]
    return at


def execution(frame: "Frame", graph: "Graph") -> IntArray:
    """Return the events of the earliest execution in the order of time, gates left out.

    Events at one time stand in an order in which they can happen.

    Raises:
        UnsupportedFeatureError: as for `moments`.
    """
    _refuse_weak(graph)
    spent = durations(frame, costs_of(frame.run.schedule))
    spent += [0] * (graph.size - len(spent))
    events = (event for _, event in _in_time(graph, spent) if event < frame.events)
    return np.fromiter(events, np.int64)


def _by_time(graph: "Graph", spent: list[int]) -> IntArray:
    """Go through all guards in the order of time."""
    at = [NEVER] * graph.size
    for now, event in _in_time(graph, spent):
        at[event] = now
    is_large = max(at, default=0) >= _LARGEST
    return np.asarray(at, np.object_ if is_large else np.int64)


def _in_time(graph: "Graph", spent: list[int]) -> "Iterator[tuple[int, int]]":
    """Yield when each event happens, and the event, none before what it waits for."""
    order = np.argsort(graph.before, kind="stable")
    after = graph.after[order].tolist()
    bounds = np.searchsorted(graph.before[order], np.arange(graph.size + 1)).tolist()
    waiting = (np.bincount(graph.after, minlength=graph.size) + graph.never).tolist()
    credit = [_Credit(each) for each in graph.credits]
    of = {event: each for each in credit for event in each.place}
    for each in credit:
        for event in each.blocked():
            waiting[event] += 1
    heap = [(spent[event], event) for event in range(graph.size) if not waiting[event]]
    heapify(heap)
    while heap:
        now, event = heappop(heap)
        yield now, event
        freed = after[bounds[event] : bounds[event + 1]]
        if event in of:
            freed = [*freed, *of[event].arrives(event)]
        for each_ in freed:
            waiting[each_] -= 1
            if not waiting[each_]:
                heappush(heap, (now + spent[each_], each_))


class _Credit:
    """A channel with room for so many messages: which sends wait until others have arrived."""

    def __init__(self, credit: "Credit") -> None:
        self.sends: list[int] = credit.drained.tolist()
        self.capacity = credit.capacity
        self.place: dict[int, int] = {event: n for n, event in enumerate(credit.arrived.tolist())}
        self.missing = list(range(len(self.place)))
        self.granted = self._room()

    def _room(self) -> int:
        """Return how many sends have room, in posting order."""
        enough = len(self.missing) >= self.capacity
        return self.missing[self.capacity - 1] + 1 if enough else len(self.sends)

    def blocked(self) -> list[int]:
        """Return the sends that have no room at first."""
        return self.sends[self.granted :]

    def arrives(self, event: int) -> list[int]:
        """Let a message arrive; return the sends that then have room."""
        number = self.place[event]
        del self.missing[bisect_left(self.missing, number)]
        before, self.granted = self.granted, max(self.granted, self._room())
        return self.sends[before : self.granted]


def overtime(frame: "Frame", graph: "Graph") -> Findings:
    """No execution is over within `bounds.makespan`, in units of `costs`; PP902.

    Of several copies of the programs the first one counts.
    """
    said = bound(frame, "makespan")
    if said is None or np.any(graph.held):
        return Findings(0)
    found = moments(frame, graph)
    makespan = first_makespan(frame, found)
    most = read_time(said)
    if makespan is not None and makespan * read_time("1") <= most * found.unit:
        return Findings(1)
    told = (
        "no execution ends"
        if makespan is None
        else (f"the earliest that an execution can end is {time_text(makespan, found.unit)}")
    )
    why = f"{told}, more than bounds.makespan {said} allows"
    return Findings(1, [Finding((), {"why": why})])


def first_makespan(frame: "Frame", found: Moments) -> int | None:
    """Return when all of the first copy of the programs is over; None if it never is."""
    copies = frame.run.copy[frame.ops.first_row] if frame.instructions else np.zeros(0, np.int64)
    ends = found.at[1 : frame.ends : 2][copies == 0]
    if np.any(ends == NEVER):
        return None
    return int(ends.max(initial=0))


TIMED: "Mapping[str, Callable[[Frame, Graph], Findings]]" = MappingProxyType({"overtime": overtime})
"""Relations that hold of moments, so that they ask for the guards as well."""
