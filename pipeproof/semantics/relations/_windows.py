"""Which optimizer step an operation of a stage belongs to."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics._open_steps import OpenSteps
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import ordinal_in_group
from pipeproof.semantics.relations._uncounted import counting

__all__ = [
    "Withdrawn",
    "boundaries",
    "boundary_turns",
    "closed_before",
    "contributions",
    "param_of",
    "steps_before",
    "taken_back",
    "window",
    "withdrawals",
    "withdrawn",
]

_SETTLED = (Kind.STEP, Kind.SKIP, Kind.COMMIT, Kind.ROLLBACK)


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
    """Return the STEPs of which a ROLLBACK withdraws everything."""
    whole, _ = taken_back(frame)
    return np.asarray(sorted(whole), np.int64)


class Withdrawn(NamedTuple):
    """A STEP that a ROLLBACK withdraws, of some `parameters`."""

    row: int
    parameters: frozenset[str]


def withdrawals(frame: Frame) -> dict[int, tuple[Withdrawn, ...]]:
    """Return what each ROLLBACK withdraws: the parts of the youngest STEP that is not committed.

    What no parameter is named of is the part that is named "".
    """
    ops = frame.ops
    if not np.any(ops.is_kind(Kind.ROLLBACK)):
        return {}
    names = _names(frame)
    steps: dict[tuple[int, int], OpenSteps[int]] = defaultdict(OpenSteps[int])
    found: dict[int, tuple[Withdrawn, ...]] = {}
    for row in np.flatnonzero(ops.is_kind(*_SETTLED) & _staged(frame)).tolist():
        stage, name = int(ops.stage[row]), param_of(frame, row)
        own = steps[int(ops.rank[row]), stage]
        match Kind(int(ops.kind[row])):
            case Kind.COMMIT:
                own.commit(name)
            case Kind.ROLLBACK:
                back: dict[int, set[str]] = {}
                for part, step in own.withdraw(name).items():
                    back.setdefault(step, set()).add(part)
                found[row] = tuple(Withdrawn(step, frozenset(back[step])) for step in sorted(back))
            case kind:
                parts = (name,) if name else names[stage]
                made = dict.fromkeys(parts, row) if kind is Kind.STEP else {}
                own.take(parts, made, single=bool(name))
    return found


def _names(frame: Frame) -> Mapping[int, Collection[str]]:
    """Return the parameters of each stage, and "" for what none is named of."""
    names: dict[int, set[str]] = defaultdict(lambda: {""})
    for row, said in frame.ops.attributes.items():
        if "param" in said:
            names[int(frame.ops.stage[row])].add(said["param"])
    return names


def taken_back(frame: Frame) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Return of what parameters STEPs are withdrawn: those that are as a whole, and in part."""
    back: dict[int, set[str]] = {}
    for each in (one for rows in withdrawals(frame).values() for one in rows):
        back.setdefault(each.row, set()).update(each.parameters)
    names = _names(frame) if back else {}
    whole = {
        row: parts
        for row, parts in back.items()
        if param_of(frame, row) or parts >= set(names[int(frame.ops.stage[row])])
    }
    return whole, {row: parts for row, parts in back.items() if row not in whole}


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
    """Yield the turn of each boundary; what was withdrawn of one may be taken again in it."""
    _, partly = taken_back(frame)
    last, turn = -1, -1
    parts: set[str] = set()
    again: set[str] = set()
    for row, own in zip(rows.tolist(), key.tolist(), strict=True):
        name = param_of(frame, row)
        if own != last:
            last, turn, parts, again = own, 0, {name}, set()
        elif name in again or (name and "" not in parts and name not in parts):
            parts.add(name)
            again.discard(name)
        else:
            turn, parts, again = turn + 1, {name}, set()
        again |= partly.get(row, set()) - {""}
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
