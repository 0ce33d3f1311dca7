"""What is under way on a rank's program: opened by one row, closed by a later one."""

from typing import NamedTuple

import numpy as np

from pipeproof.ir.accesses import Access, codes, supply, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, both, either
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._windows import boundaries, contributions

__all__ = ["Pending", "pending"]

NOWHERE = -1


class Pending(NamedTuple):
    """Spans of one rank's program, in order of the row that opens them, all shape `(n,)`.

    `closed[k]` is the row that closes a span, NOWHERE where none does. `until[k]` numbers the
    moments of the table, two a row: the one of the row that closes it, or the one behind its
    rank's last row. `value[k]` is the code of what is read there, -1 where a row as a whole is
    under way.
    """

    opened: IntArray
    closed: IntArray
    until: IntArray
    value: IntArray

    def first_at(self, rows: IntArray) -> IntArray:
        """Return for each row the first span around it, -1 where there is none."""
        first = np.full(len(rows), -1, np.int64)
        if not len(self.opened):
            return first
        furthest = np.maximum.accumulate(self.until)
        at = np.searchsorted(self.opened, rows)
        around = (at > 0) & (furthest[np.maximum(at - 1, 0)] > 2 * rows)
        for k in np.flatnonzero(around).tolist():
            first[k] = int(np.argmax(self.until[: at[k]] > 2 * rows[k]))
        return first


def pending(frame: Frame) -> Pending:
    """Return what is under way where: forwards, contributions, values that are read later."""
    parts = (_forwards(frame), _contributions(frame), _values(frame))
    opened, closed, value = (np.concatenate(each) for each in zip(*parts, strict=True))
    rank = frame.ops.rank
    behind = 2 * np.searchsorted(rank, rank[opened], side="right") - 1
    until = np.where(closed >= 0, 2 * closed, behind)
    order = np.argsort(opened, kind="stable")
    return Pending(opened[order], closed[order], until[order], value[order])


_Spans = tuple[IntArray, IntArray, IntArray]


def _known(frame: Frame, *kinds: Kind) -> IntArray:
    ops = frame.ops
    known = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages) & (ops.microbatch >= 0)
    return np.flatnonzero(ops.is_kind(*kinds) & known & (ops.microbatch < frame.run.microbatches))


def _identity(frame: Frame, rows: IntArray) -> IntArray:
    return np.asarray(frame.ops.stage[rows] * frame.run.microbatches + frame.ops.microbatch[rows])


def _own(frame: Frame, rows: IntArray) -> IntArray:
    """Number the rank, stage and microbatch of each row."""
    size = frame.run.schedule.stages * frame.run.microbatches
    return np.asarray(frame.ops.rank[rows] * size + _identity(frame, rows))


def _forwards(frame: Frame) -> _Spans:
    """From a forward to the last row of its backward, before it stands again if it does.

    One whose whole backward stands nowhere stays open, where a backward is asked for.
    """
    size = len(frame.ops) + 1
    rows = _known(frame, Kind.F)
    again = _next(_own(frame, rows) * (len(rows) + 1) + _buckets(frame, rows), rows)
    limit = np.where(again >= 0, again, size - 1)
    backwards = _known(frame, Kind.B, Kind.I, Kind.W)
    placed = np.sort(_own(frame, backwards) * size + backwards)
    last = np.searchsorted(placed, _own(frame, rows) * size + limit) - 1
    found = placed[np.maximum(last, 0)] if len(placed) else np.zeros(len(rows), np.int64)
    inside = (last >= 0) & (found // size == _own(frame, rows)) & (found % size > rows)
    closed = np.where(inside, found % size, NOWHERE)
    lost = (again < 0) & ~_has_backward(frame, rows)
    closed[lost] = NOWHERE
    keep = inside | lost
    return rows[keep], closed[keep], np.full(int(np.sum(keep)), -1)


def _has_backward(frame: Frame, rows: IntArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which forwards have their whole backward in the file, or need none."""
    if frame.fragment or frame.run.schedule.forward_only:
        return np.ones(len(rows), np.bool_)
    there = {kind: _identity(frame, _known(frame, kind)) for kind in (Kind.B, Kind.I, Kind.W)}
    whole = either(there[Kind.B], both(there[Kind.I], there[Kind.W]))
    return among(_identity(frame, rows), whole)


def _next(keys: IntArray, rows: IntArray) -> IntArray:
    """Return for each row the next one of its key, NOWHERE if it is the last; rows ascend."""
    order = np.argsort(keys, kind="stable")
    following = np.full(len(rows), NOWHERE, np.int64)
    same = keys[order][:-1] == keys[order][1:]
    following[order[:-1][same]] = rows[order[1:][same]]
    return following


def _buckets(frame: Frame, rows: IntArray) -> IntArray:
    """Number the bucket that each row names, 0 for none."""
    number = np.zeros(len(rows), np.int64)
    numbers: dict[str, int] = {}
    carrying = [row for row, said in frame.ops.attributes.items() if "bucket" in said]
    for at in np.flatnonzero(among(rows, carrying)).tolist():
        said = frame.ops.attributes[int(rows[at])]["bucket"]
        number[at] = numbers.setdefault(said, len(numbers) + 1)
    return number


def _contributions(frame: Frame) -> _Spans:
    """From a contribution to the STEP or SKIP that takes it, for each parameter, if one stands.

    What is cleared or overwritten before that is under way no longer.
    """
    taking, adding = boundaries(frame), contributions(frame)
    clearing = _clearing(frame, adding)
    named = _parameters(frame)
    spans = [(adding[:0], adding[:0])]
    for parameter in sorted({"", *named.values()}):
        others = [row for row, name in named.items() if name != parameter]
        rows = adding[~among(adding, others)]
        step = _following(frame, rows, taking[~among(taking, others)])
        cleared = _following(frame, rows, clearing[~among(clearing, others)])
        first = np.where((cleared >= 0) & (cleared < step), cleared, step)
        spans.append((rows[step >= 0], first[step >= 0]))
    opened, closed = (np.concatenate(each) for each in zip(*spans, strict=True))
    return opened, closed, np.full(len(opened), -1)


def _clearing(frame: Frame, adding: IntArray) -> IntArray:
    """Return the rows that throw away what was added before: ZERO, and what overwrites."""
    ops = frame.ops
    assigning = [row for row, said in ops.attributes.items() if said.get("mode") == "assign"]
    zeros = np.flatnonzero(ops.is_kind(Kind.ZERO) & (ops.stage < frame.run.schedule.stages))
    return either(zeros, adding[among(adding, assigning)])


def _parameters(frame: Frame) -> dict[int, str]:
    """Return the parameter of each row that names one, of those that touch a gradient."""
    ops = frame.ops
    touching = ops.is_kind(Kind.B, Kind.W, Kind.ZERO, Kind.STEP, Kind.SKIP)
    return {
        row: said["param"]
        for row, said in ops.attributes.items()
        if "param" in said and touching[row]
    }


def _following(frame: Frame, rows: IntArray, others: IntArray) -> IntArray:
    """Return for each row the next of `others` of its rank and stage, NOWHERE without one."""
    ops, size = frame.ops, len(frame.ops) + 1

    def key(of: IntArray) -> IntArray:
        return (ops.rank[of] * (frame.run.schedule.stages + 1) + ops.stage[of]) * size

    placed = np.sort(key(others) + others)
    if not len(placed):
        return np.full(len(rows), NOWHERE, np.int64)
    at = np.searchsorted(placed, key(rows) + rows, side="right")
    found = placed[np.minimum(at, len(placed) - 1)]
    inside = (at < len(placed)) & (found - found % size == key(rows))
    return np.where(inside, found % size, NOWHERE)


def _values(frame: Frame) -> _Spans:
    """From what puts a value on a rank, but a WRITE, to each row there that reads it."""
    reading, given = frame.supplied
    extra = _extras(frame)
    rows = np.concatenate((reading.rows, extra.rows))
    values = np.concatenate((reading.values, extra.values))
    more = supply(frame.ops, extra, writes(frame.run)).writer if len(extra.rows) else extra.rows
    writer = np.concatenate((given.writer, more))
    keep = (writer >= 0) & ~frame.ops.is_kind(Kind.WRITE)[writer]
    return writer[keep], rows[keep], values[keep]


def _extras(frame: Frame) -> Access:
    """Return the reads of extra inputs: of A.m by the forwards that say where it is."""
    saying = [row for row, said in frame.ops.attributes.items() if "aux" in said]
    rows = _known(frame, Kind.F)
    rows = rows[among(rows, saying)]
    return Access(rows, codes(ValueKind.A, 0, frame.ops.microbatch[rows]))
