"""What rests on a corrupted message: the value is followed to the steps that take it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from pipeproof.ir.accesses import Access, awaited_reads, codes, known, supply, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray
from pipeproof.ir.schedule import neighbours
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._windows import (
    boundaries,
    closed_before,
    contributions,
    param_of,
)
from pipeproof.semantics.relations.running import meetings

__all__ = ["steps_that_rest_on"]

_OF_FORWARD = (Kind.B, Kind.I, Kind.W, Kind.R)


def steps_that_rest_on(frame: Frame, sends: IntArray) -> dict[int, str]:
    """Return the STEPs that take what rests on messages, each with what it takes, in words.

    A value makes what its readers make rest on it: a forward all that its backward uses, also
    recomputed, a backward the gradient of its stage; a TIE and a NORM carry it to other stages.
    """
    spoilt = _Values(frame).spoilt(sends)
    return _Gradients(frame).taken([row for row in contributions(frame).tolist() if row in spoilt])


class _Values:
    """Who reads what from whom, over all ranks.

    A WRITE of a value that stands on its rank already is a copy of it.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        ops, writing = frame.ops, writes(frame.run)
        copies = ops.is_kind(Kind.WRITE)[writing.rows]
        self._readers: dict[int, list[int]] = defaultdict(list)
        for reading in (
            awaited_reads(frame.run),
            Access(writing.rows[copies], writing.values[copies]),
            _of_losses(frame.run),
        ):
            writer = supply(ops, reading, writing).writer
            for row, source in zip(reading.rows.tolist(), writer.tolist(), strict=True):
                self._readers[source].append(row)
        self._of: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for row in np.flatnonzero(ops.is_kind(Kind.F, *_OF_FORWARD)).tolist():
            self._of[self._key(row, int(ops.kind[row]))].append(row)

    def spoilt(self, sends: IntArray) -> frozenset[int]:
        """Return the rows that read something that rests on messages, by the rows that send."""
        todo = [row for send in sends.tolist() for row in self._received(send)]
        found = set(todo)
        while todo:
            for row in self._behind(todo.pop()):
                if row not in found:
                    found.add(row)
                    todo.append(row)
        return frozenset(found)

    def _key(self, row: int, kind: int) -> tuple[int, int, int]:
        ops = self._frame.ops
        return kind, int(ops.stage[row]), int(ops.microbatch[row])

    def _received(self, send: int) -> list[int]:
        pairing = self._frame.pairing
        rows = pairing.receive[pairing.send == send]
        return [row for row in rows.tolist() if row >= 0]

    def _behind(self, row: int) -> Iterator[int]:
        """Yield what rests on what a row makes or keeps."""
        yield from self._readers[row]
        kind = Kind(int(self._frame.ops.kind[row]))
        if kind is Kind.SEND:
            yield from self._received(row)
        elif kind in (Kind.F, Kind.R):
            for each in _OF_FORWARD:
                yield from self._of[self._key(row, each)]
        elif kind is Kind.I:
            yield from self._of[self._key(row, Kind.W)]
        yield from self._handed_on(row, kind)

    def _handed_on(self, row: int, kind: Kind) -> Iterator[int]:
        """Yield what later segments of a microbatch, or later users of a state, take over."""
        ops, segments = self._frame.ops, self._frame.run.schedule.segments
        _, stage, microbatch = self._key(row, kind)
        first = microbatch - microbatch % segments
        if kind is Kind.F:
            for later in range(microbatch + 1, first + segments):
                yield from self._of[kind, stage, later]
            state = ops.attributes.get(row, {}).get("state")
            for other, said in ops.attributes.items() if state else ():
                if other > row and said.get("state") == state and ops.stage[other] == stage:
                    yield other
        elif kind in (Kind.B, Kind.I):
            for earlier in range(first, microbatch):
                yield from self._of[kind, stage, earlier]


def _of_losses(run: AsRun) -> Access:
    """Return what backwards of last stages read of losses, also where no L stands in the file."""
    ops, (_, after) = run.operations, neighbours(run.schedule)
    rows = known(run, Kind.B, Kind.I)
    rows = rows[np.asarray(after)[ops.stage[rows]] < 0]
    return Access(rows, codes(ValueKind.L, 0, ops.microbatch[rows]))


class _Gradients:
    """Follows what was added to a gradient to the STEP that takes it."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        ops = frame.ops
        rows = boundaries(frame)
        self._steps = rows[ops.kind[rows] == Kind.STEP]
        self._turn = closed_before(frame, self._steps)
        self._meeting: Mapping[int, tuple[int, ...]] = {
            row: each.entries for each in meetings(frame) for row in each.entries
        }
        self._changes = np.flatnonzero(ops.is_kind(Kind.ZERO, Kind.B, Kind.W, Kind.TIE, Kind.NORM))

    def taken(self, rows: list[int]) -> dict[int, str]:
        """Return the STEPs that take what rows put into a gradient, in words what they take."""
        found: dict[int, str] = {}
        todo, seen = list(rows), set(rows)
        while todo:
            row = todo.pop(0)
            turn = int(closed_before(self._frame, np.asarray([row]))[0])
            end = self._cleared(row, turn)
            for step in self._takers(row, turn):
                if step < end:
                    found.setdefault(step, self._frame.text(row))
            for other in self._carried(row, turn, end):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return found

    def _takers(self, row: int, turn: int) -> list[int]:
        """Return the STEPs, in parts, that end the window in which a row stands."""
        ops = self._frame.ops
        own = (ops.stage[self._steps] == ops.stage[row]) & (self._turn == turn)
        own &= (ops.rank[self._steps] == ops.rank[row]) & (self._steps > row)
        return [step for step in self._steps[own].tolist() if self._alike(row, step)]

    def _alike(self, row: int, other: int) -> bool:
        """Whether two rows are about one parameter, or one of them about the whole stage."""
        names = {param_of(self._frame, row), param_of(self._frame, other)}
        return len(names) == 1 or "" in names

    def _behind(self, row: int, turn: int) -> list[int]:
        """Return what changes the gradient, or meets others, between a row and the next STEP."""
        ops, rows = self._frame.ops, self._changes[self._changes > row]
        rows = rows[(ops.stage[rows] == ops.stage[row]) & (ops.rank[rows] == ops.rank[row])]
        found: list[int] = rows[closed_before(self._frame, rows) == turn].tolist()
        return found

    def _cleared(self, row: int, turn: int) -> int:
        """Return where what a row put there is cleared or overwritten, all of it."""
        ops, name = self._frame.ops, param_of(self._frame, row)
        for other in self._behind(row, turn):
            whole = param_of(self._frame, other) in ("", name)
            assigns = ops.attributes.get(other, {}).get("mode") == "assign"
            if whole and (ops.kind[other] == Kind.ZERO or assigns):
                return other
        return len(ops)

    def _carried(self, row: int, turn: int, end: int) -> Iterator[int]:
        """Yield the ties and norms of other stages that take it over from this one."""
        ops = self._frame.ops
        for other in (each for each in self._behind(row, turn) if each < end):
            if ops.kind[other] == Kind.TIE and self._alike(row, other):
                yield from (each for each in self._meeting.get(other, ()) if each != other)
            elif ops.kind[other] == Kind.NORM:
                yield from self._normed_with(other)

    def _normed_with(self, row: int) -> Iterator[int]:
        """Yield the norms of one step that are over the same ranks."""
        ops, frame = self._frame.ops, self._frame
        norms = np.flatnonzero(ops.is_kind(Kind.NORM))
        turns = closed_before(frame, norms)
        turn = int(closed_before(frame, np.asarray([row]))[0])
        ranks = ops.attributes.get(row, {}).get("ranks", "").split(",")
        for other in norms[turns == turn].tolist():
            said = ops.attributes.get(other, {}).get("ranks", "").split(",")
            if set(said) == set(ranks):
                yield other
