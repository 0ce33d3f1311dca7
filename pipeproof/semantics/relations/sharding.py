"""Stages that are sharded: gathered by UNSHARD before use, given back by RESHARD."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding

__all__ = ["ends_as_it_starts", "repeated_changes", "sharded"]


def _changes(frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the rows of UNSHARD and RESHARD by rank and stage, and their (rank, stage) keys."""
    ops = frame.ops
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    rows = np.flatnonzero(ops.is_kind(Kind.UNSHARD, Kind.RESHARD) & staged)
    key = ops.rank[rows] * frame.run.schedule.stages + ops.stage[rows]
    order = np.lexsort((rows, key))
    return rows[order], key[order]


def repeated_changes(frame: Frame) -> tuple[int, IntArray]:
    """Return the number of changes, and those that change nothing.

    A stage that is ever unsharded or resharded is sharded from the start.
    """
    rows, key = _changes(frame)
    if not len(rows):
        return 0, rows
    kind = frame.ops.kind[rows]
    fresh = np.diff(key, prepend=-1) != 0
    before = np.where(fresh, int(Kind.RESHARD), np.roll(kind, 1))
    return len(rows), rows[kind == before]


def sharded(frame: Frame) -> Findings:
    """A stage computes only while it is unsharded, where it is sharded at all."""
    ops = frame.ops
    changes, key = _changes(frame)
    managed = np.zeros(frame.run.schedule.stages + 1, np.bool_)
    managed[ops.stage[changes]] = True
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    users = ops.is_kind(Kind.F, Kind.B, Kind.I, Kind.W, Kind.R) & staged
    unread = [row for row, said in ops.attributes.items() if said.get("w") == "none"]
    users[unread] = False
    rows = np.flatnonzero(users & managed[np.where(staged, ops.stage, -1)])
    size = len(ops) + 1
    own = ops.rank[rows] * frame.run.schedule.stages + ops.stage[rows]
    at = np.searchsorted(key * size + changes, own * size + rows) - 1
    safe = np.maximum(at, 0)
    known = (at >= 0) & (key[safe] == own) if len(key) else at >= 0
    gathered = known & (ops.kind[changes[safe]] == Kind.UNSHARD) if len(key) else known
    return Findings(len(rows), [finding(frame, row) for row in rows[~gathered].tolist()])


def ends_as_it_starts(frame: Frame) -> bool:
    """Whether every stage that is sharded from the start is sharded at the end."""
    rows, key = _changes(frame)
    if not len(rows):
        return True
    last = np.flatnonzero(np.diff(key, append=-1) != 0)
    return bool(np.all(frame.ops.kind[rows[last]] == Kind.RESHARD))
