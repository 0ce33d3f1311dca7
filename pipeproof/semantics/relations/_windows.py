"""Which optimizer step an operation of a stage belongs to."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import ordinal_in_group

__all__ = ["boundaries", "contributions", "steps_before", "window", "withdrawn"]


def _staged(frame: Frame) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.asarray((frame.ops.stage >= 0) & (frame.ops.stage < frame.run.schedule.stages))


def boundaries(frame: Frame) -> IntArray:
    """Return the rows of STEP and SKIP that count: a STEP that was withdrawn is none."""
    rows = np.flatnonzero(frame.ops.is_kind(Kind.STEP, Kind.SKIP) & _staged(frame))
    lost = withdrawn(frame)
    return rows[~among(rows, lost)] if len(lost) else rows


def withdrawn(frame: Frame) -> IntArray:
    """Return the STEPs that a ROLLBACK withdraws: the youngest before it that is not committed."""
    ops = frame.ops
    if not np.any(ops.is_kind(Kind.ROLLBACK)):
        return np.zeros(0, np.int64)
    open_: dict[tuple[int, int], list[int]] = {}
    lost: list[int] = []
    rows = np.flatnonzero(ops.is_kind(Kind.STEP, Kind.COMMIT, Kind.ROLLBACK) & _staged(frame))
    for row in rows.tolist():
        made = open_.setdefault((int(ops.rank[row]), int(ops.stage[row])), [])
        match Kind(int(ops.kind[row])):
            case Kind.STEP:
                made.append(row)
            case Kind.COMMIT:
                made.clear()
            case _:
                lost.extend(made[-1:])
                del made[-1:]
    return np.asarray(sorted(lost), np.int64)


def contributions(frame: Frame) -> IntArray:
    """Return the rows that add to a gradient: B and W."""
    return np.flatnonzero(frame.ops.is_kind(Kind.B, Kind.W) & _staged(frame))


def steps_before(frame: Frame, rows: IntArray) -> IntArray:
    """Count the STEPs and SKIPs of a row's stage that stand before it on its rank.

    In copies of one step, each copy is a step.
    """
    if frame.run.copies > 1:
        return np.asarray(frame.run.copy[rows])
    ops, steps = frame.ops, boundaries(frame)
    size = len(ops) + 1
    key = (ops.rank * frame.run.schedule.stages + ops.stage) * size
    sorted_steps = np.sort(key[steps] + steps)
    low = np.searchsorted(sorted_steps, key[rows])
    return np.searchsorted(sorted_steps, key[rows] + rows) - low


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
        name = frame.ops.attributes.get(row, {}).get("param", "")
        part[at] = numbers.setdefault(name, len(numbers))
    return part
