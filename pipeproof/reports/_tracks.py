"""An execution as tracks: a process a rank, on each what computes, sends and receives."""

import re
from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.operations import NONE, IntArray
from pipeproof.reports._chosen import Chosen
from pipeproof.reports._layout import layout
from pipeproof.reports._worded import worded
from pipeproof.verdict.result import Json

__all__ = ["Tracks"]

_LANES = ("compute", "send", "receive", "other")
_SEND, _RECEIVE = 1, 2
_UNIT = 1_000  # microseconds for a unit of the axis
_WIDTH = 2  # microseconds that a message takes at least; the last one is its arrival
_TEXT = 200  # characters of a name
_OPEN = 2  # started, not complete
_ORDER = {"X": 0, "i": 1, "s": 2, "f": 3}
_CASE = re.compile(r"#\d+$")


class _Box(NamedTuple):
    """An operation as it is drawn, from `start` to `end` in microseconds, on a track."""

    row: int
    rank: int
    lane: int
    start: int
    end: int


class _Thread(NamedTuple):
    """A track of a rank."""

    rank: int
    name: str


_Timed = tuple[int, str, dict[str, Json]]
"""When an event is, its phase, and the event."""


class Tracks:
    """The events of one execution; no two boxes of a track overlap, save arrivals inside receives.

    A message is drawn from its post until it has moved, at least two microseconds wide; what else
    takes no time has no width.
    """

    def __init__(self, shown: Chosen) -> None:
        """Lay out the execution that `shown` names."""
        self._shown, self._frame = shown, shown.model.frame
        self.layout = layout(shown.model, shown.decision, shown.broken)
        unit = self.layout.unit
        self._times = _UNIT // unit if _UNIT % unit == 0 else 1
        self._file = worded(_CASE.sub("", shown.document.name))
        self._rows = self._drawn()
        self._sends = self._sources()
        self._lane = self._lanes()
        self._named = self._places()

    @property
    def scale(self) -> str:
        """What a microsecond stands for, in words."""
        what = "a unit of time" if self.layout.timed else "a step"
        return f"{what} is drawn as {self.layout.unit * self._times} us"

    def _drawn(self) -> IntArray:
        """Return the rows of the execution, of a second copy of the programs only if it matters."""
        frame, broken = self._frame, self._shown.broken
        rows = np.arange(len(frame.ops))
        spots = () if broken is None else broken.finding.spots
        if any(spot.row >= 0 and frame.run.copy[spot.row] for spot in spots):
            return rows
        return np.flatnonzero(frame.run.copy == 0)

    def _sources(self) -> IntArray:
        """Return for each row that receives a message the row that sends it, -1 for others."""
        pairing = self._frame.pairing
        sends = np.full(len(self._frame.ops), -1, np.int64)
        met = pairing.receive >= 0
        sends[pairing.receive[met]] = pairing.send[met]
        return sends

    def _lanes(self) -> IntArray:
        ops = self._frame.ops
        lane = np.full(len(ops), len(_LANES) - 1)
        lane[ops.is_kind(*COMPUTE)] = 0
        lane[ops.is_kind(Kind.SEND)] = _SEND
        lane[ops.is_kind(Kind.RECV)] = _RECEIVE
        return lane

    def _places(self) -> set[int]:
        broken = self._shown.broken
        spots = () if broken is None else broken.finding.spots
        return {spot.row for spot in spots if spot.row >= 0}

    def never(self) -> Sequence[str]:
        """Return what never happens, a line a rank: how many operations, and the first of them."""
        ops, found = self._frame.ops, list[str]()
        missing = self._rows[self.layout.happened[self._rows] == 0]
        first = np.flatnonzero(np.diff(ops.rank[missing], prepend=-1) != 0)
        counts = np.diff(np.append(first, len(missing))).tolist()
        for at, count in zip(first.tolist(), counts, strict=True):
            row = int(missing[at])
            text = worded(self._frame.text(row), _TEXT)
            where = f"position {self._frame.position(row)}"
            found.append(f"rank {int(ops.rank[row])}: {count} operations from {where} on, {text}")
        return found

    def events(self) -> Iterator[Json]:
        """Yield the events in order of time, those that name processes and threads first."""
        boxes = self._boxes()
        of, threads = self._threads(boxes)
        yield from self._names(threads)
        found = [(box.start, "X", self._box(box, of[box.row])) for box in boxes]
        found += self._flows(boxes, of)
        found += self._illegal(of)
        found.sort(key=lambda each: (each[0], _ORDER[each[1]]))
        yield from (event for _, _, event in found)

    def _boxes(self) -> list[_Box]:
        """Return what happens, in order of rank, lane and start."""
        ops, told = self._frame.ops, self.layout
        rows = self._rows[told.happened[self._rows] > 0]
        lane, times = self._lane[rows], self._times
        moves = (lane == _SEND) | (lane == _RECEIVE)
        start = told.start[rows] * times
        end = np.where(moves, told.complete[rows], told.end[rows]) * times
        end = np.where(moves, np.maximum(end, start + _WIDTH), end)
        end = np.maximum(end, self._met(rows, lane))
        columns = (rows, ops.rank[rows], lane, start, end)
        order = np.lexsort((rows, end, start, lane, ops.rank[rows]))
        return [_Box(*each) for each in zip(*(c[order].tolist() for c in columns), strict=True)]

    def _met(self, rows: IntArray, lane: IntArray) -> IntArray:
        """Return for each receive a moment that its arrival can begin before, 0 elsewhere.

        An arrow leads to a box that begins after the one it comes from, or it is drawn backwards.
        """
        send = np.where(lane == _RECEIVE, self._sends[rows], -1)
        started = (send >= 0) & (self.layout.happened[send] > 0)
        return np.where(started, self.layout.start[send] * self._times + _WIDTH, 0)

    def _threads(self, boxes: Sequence[_Box]) -> tuple[dict[int, int], list[_Thread]]:
        """Return the thread of each row, and all threads, in order of rank and lane.

        Each box takes the first track of its rank and lane that is free; there is more than one
        where messages are under way at once.
        """
        of, threads = dict[int, int](), list[_Thread]()
        before, free, busy, own = (-1, -1), list[int](), list[tuple[int, int]](), 0
        for box in boxes:
            if (box.rank, box.lane) != before:
                before, free, busy, own = (box.rank, box.lane), [], [], 0
            while busy and busy[0][0] <= box.start:
                heappush(free, heappop(busy)[1])
            if not free:
                own += 1
                name = _LANES[box.lane] + (f" {own}" if own > 1 else "")
                threads.append(_Thread(box.rank, name))
                free.append(len(threads))
            track = heappop(free)
            heappush(busy, (box.end, track))
            of[box.row] = track
        return of, threads

    def _names(self, threads: Sequence[_Thread]) -> Iterator[Json]:
        """Yield what names and orders processes and threads; numbers of both begin with 1."""
        label = "" if self.layout.timed else "steps, not time"
        for rank in range(self._frame.ranks):
            yield _named(rank + 1, 0, "process_name", {"name": f"rank {rank}"})
            yield _named(rank + 1, 0, "process_sort_index", {"sort_index": rank})
            if label:
                yield _named(rank + 1, 0, "process_labels", {"labels": label})
        for number, thread in enumerate(threads, 1):
            yield _named(thread.rank + 1, number, "thread_name", {"name": thread.name})
            yield _named(thread.rank + 1, number, "thread_sort_index", {"sort_index": number})

    def _box(self, box: _Box, thread: int) -> dict[str, Json]:
        row, frame = box.row, self._frame
        event: dict[str, Json] = {
            "name": worded(frame.text(row), _TEXT),
            "cat": _LANES[box.lane],
            "ph": "X",
            "ts": box.start,
            "dur": box.end - box.start,
            "pid": box.rank + 1,
            "tid": thread,
        }
        args = self._args(row)
        if row in self._named and self._shown.violation is not None:
            violation = self._shown.violation
            event["cname"] = "terrible"
            args["rule"] = f"{violation.rule} {violation.name}"
            args["message"] = worded(violation.message)
        return {**event, "args": args}

    def _args(self, row: int) -> dict[str, Json]:
        frame, ops = self._frame, self._frame.ops
        args: dict[str, Json] = {"rank": int(ops.rank[row]), "position": frame.position(row)}
        for name, column in (("stage", ops.stage), ("microbatch", ops.microbatch)):
            if int(column[row]) != NONE:
                args[name] = int(column[row])
        if frame.run.is_message[row]:
            args["value"] = worded(ops.value_text(int(ops.value[row])), _TEXT)
        written = int(frame.run.written[row])
        line, column_ = self._shown.document.places.place(written) if written >= 0 else (0, 0)
        if line > 0:
            args["at"] = f"{self._file}:{line}:{column_}"
        if frame.run.added[row]:
            args["lowered"] = True
        if frame.run.copy[row]:
            args["step"] = int(frame.run.copy[row])
        if self.layout.happened[row] == _OPEN:
            args["state"] = "started, never complete"
        return args

    def _flows(self, boxes: Sequence[_Box], threads: dict[int, int]) -> Iterator[_Timed]:
        """Yield an arrow from each send to the arrival of its message, a box inside the receive."""
        drawn = {box.row: box for box in boxes if box.lane == _SEND}
        for box in boxes:
            send = int(self._sends[box.row]) if box.lane == _RECEIVE else -1
            if send not in drawn or self.layout.happened[box.row] == _OPEN:
                continue
            value = self._frame.ops.value_text(int(self._frame.ops.value[send]))
            here: dict[str, Json] = {"pid": box.rank + 1, "tid": threads[box.row]}
            there: dict[str, Json] = {"pid": drawn[send].rank + 1, "tid": threads[send]}
            first, last = drawn[send].start, box.end - 1
            said = f"{worded(value, _TEXT)} arrives"
            arrival: dict[str, Json] = {"name": said, "cat": "receive", "ph": "X"}
            yield last, "X", {**arrival, "ts": last, "dur": 1, **here, "args": {}}
            arrow: dict[str, Json] = {"name": "message", "cat": "message", "id": box.row + 1}
            yield first, "s", {**arrow, "ph": "s", "ts": first, **there}
            yield last, "f", {**arrow, "ph": "f", "ts": last, **here, "bp": "e"}

    def _illegal(self, threads: dict[int, int]) -> Iterator[_Timed]:
        """Yield the mark at the first illegal event, for all to see where it has no place."""
        violation = self._shown.violation
        if violation is None:
            return
        row, told = self._first(threads), self.layout
        moment = told.span if told.frontier is None else told.frontier
        moment = (moment if row is None else int(told.start[row])) * self._times
        mark: dict[str, Json] = {
            "name": f"{violation.rule} {violation.name}",
            "cat": "illegal",
            "ph": "i",
            "ts": moment,
            "pid": 1,
            "tid": 0,
            "s": "g",
            "cname": "terrible",
            "args": {"message": worded(violation.message), "reached": violation.reached},
        }
        if row is not None:
            mark["pid"], mark["tid"] = int(self._frame.ops.rank[row]) + 1, threads[row]
            mark["s"] = "t"
        yield moment, "i", mark

    def _first(self, drawn: Collection[int]) -> int | None:
        """Return the row with which the execution becomes illegal, None if there is no such."""
        broken, frame = self._shown.broken, self._frame
        rows = [row for row in sorted(self._named) if row in drawn]
        if broken is not None and len(broken.trace):
            kind, number = frame.owner(int(broken.trace[-1]))
            own = [row for row in rows if frame.ops.instruction[row] == number]
            if kind == "instruction" and own:
                return own[0]
        return rows[0] if rows else None


def _named(process: int, thread: int, name: str, args: dict[str, Json]) -> Json:
    return {"name": name, "ph": "M", "ts": 0, "pid": process, "tid": thread, "args": args}
