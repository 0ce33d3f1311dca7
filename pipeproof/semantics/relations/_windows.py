"""Which optimizer step an operation of a stage belongs to."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import ordinal_in_group
from pipeproof.semantics.relations._uncounted import counting

__all__ = [
    "boundaries",
    "boundary_turns",
    "closed_before",
    "contributions",
    "param_of",
    "steps_before",
    "window",
    "withdrawals",
    "withdrawn",
]


def _staged(frame: Frame) -> npt.NDArray[np.bool_]:
    return np.asarray((frame.ops.stage >= 0) & (frame.ops.stage < frame.run.schedule.stages))


def param_of(frame: Frame, row: int) -> str:
    """Return the parameter that a row names, empty for the whole stage."""
    return frame.ops.attributes.get(row, {}).get("param", "")


def boundaries(frame: Frame) -> IntArray:
    """Return the rows of STEP and SKIP that count: a STEP that was withdrawn is none.

    Those of single parameters are parts of one boundary: `boundary_turns` numbers them.
    """
    rows = np.flatnonzero(frame.ops.is_kind(Kind.STEP, Kind.SKIP) & _staged(frame))
    lost = withdrawn(frame)
    return rows[~among(rows, lost)] if len(lost) else rows


def withdrawn(frame: Frame) -> IntArray:
    """Return the STEPs that a ROLLBACK withdraws: the youngest before it that is not committed."""
    lost = [row for rows in withdrawals(frame).values() for row in rows]
    return np.asarray(sorted(lost), np.int64)


def withdrawals(frame: Frame) -> dict[int, tuple[int, ...]]:
    """Return for each ROLLBACK the STEPs that it withdraws: the parts of one boundary."""
    ops = frame.ops
    if not np.any(ops.is_kind(Kind.ROLLBACK)):
        return {}
    open_: dict[tuple[int, int], list[dict[str, int]]] = {}
    lost: dict[int, tuple[int, ...]] = {}
    rows = np.flatnonzero(ops.is_kind(Kind.STEP, Kind.COMMIT, Kind.ROLLBACK) & _staged(frame))
    for row in rows.tolist():
        made = open_.setdefault((int(ops.rank[row]), int(ops.stage[row])), [])
        name = param_of(frame, row)
        match Kind(int(ops.kind[row])):
            case Kind.STEP if made and _joins(name, made[-1]):
                made[-1][name] = row
            case Kind.STEP:
                made.append({name: row})
            case Kind.COMMIT:
                made[:] = [parts for parts in made if name not in ("", *parts) and "" not in parts]
            case _:
                lost[row] = _withdraw(made, name)
    return lost


def _joins(name: str, parts: dict[str, int]) -> bool:
    """Whether a STEP of this parameter is one more part of a boundary."""
    return bool(name) and "" not in parts and name not in parts


def _withdraw(made: list[dict[str, int]], name: str) -> tuple[int, ...]:
    for parts in reversed(made):
        if not name or "" in parts:
            made.remove(parts)
            return tuple(sorted(parts.values()))
        if name in parts:
            row = parts.pop(name)
            if not parts:
                made.remove(parts)
            return (row,)
    return ()


def contributions(frame: Frame) -> IntArray:
    """Return the rows that add to a gradient: B and W, save what read withdrawn weights."""
    return counting(frame, np.flatnonzero(frame.ops.is_kind(Kind.B, Kind.W) & _staged(frame)))


def _key(frame: Frame, rows: IntArray) -> IntArray:
    return np.asarray(frame.ops.rank[rows] * frame.run.schedule.stages + frame.ops.stage[rows])


def boundary_turns(frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the boundaries in order of rank, stage and row, and the turn of each.

    A STEP or SKIP of one parameter is a part of the boundary before it unless that has it.
    """
    rows = boundaries(frame)
    key = _key(frame, rows)
    order = np.lexsort((rows, key))
    rows, key = rows[order], key[order]
    turns = ordinal_in_group(key)
    if any(param_of(frame, row) for row in rows.tolist()) if frame.ops.attributes else False:
        turns = np.fromiter(_numbered(frame, rows, key), np.int64, len(rows))
    return rows, turns


def _numbered(frame: Frame, rows: IntArray, key: IntArray) -> Iterator[int]:
    last, turn = -1, -1
    parts: dict[str, int] = {}
    for row, own in zip(rows.tolist(), key.tolist(), strict=True):
        name = param_of(frame, row)
        if own != last:
            last, turn, parts = own, 0, {name: row}
        elif _joins(name, parts):
            parts[name] = row
        else:
            turn, parts = turn + 1, {name: row}
        yield turn


def closed_before(frame: Frame, rows: IntArray) -> IntArray:
    """Count the boundaries of a row's stage that are complete before it on its rank.

    For a row that names a parameter those that have it count, up to the last before it.
    """
    marks, turns = boundary_turns(frame)
    if not len(marks):
        return np.zeros(len(rows), np.int64)
    size = len(frame.ops) + 1
    key = _key(frame, marks)
    last = np.append((np.diff(key) != 0) | (np.diff(turns) != 0), [True])
    closing = key[last] * size + marks[last]
    own = _key(frame, rows) * size
    count = np.searchsorted(closing, own + rows) - np.searchsorted(closing, own)
    if frame.ops.attributes:
        _count_by_parameter(frame, rows, marks, turns, count)
    return count


def _count_by_parameter(
    frame: Frame, rows: IntArray, marks: IntArray, turns: IntArray, count: IntArray
) -> None:
    """Set the count of rows that name a parameter, where boundaries come in parts."""
    names = [param_of(frame, row) for row in marks.tolist()]
    if not any(names):
        return
    before: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
    for row, turn, name, key in zip(
        marks.tolist(), turns.tolist(), names, _key(frame, marks).tolist(), strict=True
    ):
        stood, counted = before.setdefault((key, name), ([], []))
        stood.append(row)
        counted.append(turn + 1)
    bounds = set(marks.tolist())
    keys = _key(frame, rows).tolist()
    for at, row in enumerate(rows.tolist()):
        name = param_of(frame, row)
        if name and row not in bounds:
            found = 0
            for each in (name, ""):
                stood, counted = before.get((keys[at], each), ([], []))
                place = bisect_left(stood, row)
                found = max(found, counted[place - 1] if place else 0)
            count[at] = found


def steps_before(frame: Frame, rows: IntArray) -> IntArray:
    """Count the STEPs and SKIPs of a row's stage that stand before it on its rank.

    In copies of one step, each copy is a step; those of single parameters are counted by
    boundary, which ends with its last part.
    """
    if frame.run.copies > 1:
        return np.asarray(frame.run.copy[rows])
    return closed_before(frame, rows)


def window(frame: Frame, rows: IntArray) -> IntArray:
    """Return the step that each row belongs to.

    For a stage with a STEP or SKIP: how many stand before. Without any, a contribution belongs to
    the step of its microbatch, and the k-th reduction of a stage to the k-th step.
    """
    if frame.run.copies > 1:
        return np.asarray(frame.run.copy[rows])
    ops = frame.ops
    stepped = np.zeros(frame.run.schedule.stages + 1, np.bool_)
    stepped[ops.stage[boundaries(frame)]] = True
    by_id = ops.microbatch[rows] // max(frame.run.schedule.ids_per_step, 1)
    by_turn = ordinal_in_group(
        (ops.stage[rows] * len(Kind) * 2 + ops.kind[rows]) * 2**20 + _part(frame, rows)
    )
    alone = np.where(ops.microbatch[rows] >= 0, by_id, by_turn)
    return np.where(stepped[ops.stage[rows]], steps_before(frame, rows), alone)


def _part(frame: Frame, rows: IntArray) -> IntArray:
    """Number the `param` that each row names, 0 for the whole stage."""
    part = np.zeros(len(rows), np.int64)
    if not frame.ops.attributes:
        return part
    numbers: dict[str, int] = {"": 0}
    for at, row in enumerate(rows.tolist()):
        part[at] = numbers.setdefault(param_of(frame, row), len(numbers))
    return part
