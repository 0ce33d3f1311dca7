"""What withdrawn weights spread to: forwards of later stages that read what they made."""

from collections import defaultdict

import numpy as np

from pipeproof.ir.accesses import reads, supply, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray
from pipeproof.ir.values import ValueKind

__all__ = ["spread"]


def spread(run: AsRun, rows: IntArray) -> IntArray:
    """Return `rows` with the forwards and losses that work on what those among them made.

    A message brings what its partner sends: the k-th receive of a value from a rank what the
    k-th send of it there sends.
    """
    ops = run.operations
    reading = reads(run)
    given = supply(ops, reading, writes(run))
    maker = np.where(given.writer >= 0, given.writer, given.later)
    passed = (reading.values >> 56) == int(ValueKind.F)
    made_by = dict(zip(reading.rows[passed].tolist(), maker[passed].tolist(), strict=True))
    sender = _senders(run)
    forward = set(np.flatnonzero(ops.is_kind(Kind.F, Kind.L)).tolist())
    lost = set(rows.tolist())
    while True:
        more = {
            row
            for row in forward - lost
            if _origin(made_by.get(row, -1), sender, made_by) in lost & forward
        }
        if not more:
            return np.asarray(sorted(lost), np.int64)
        lost |= more


def _origin(row: int, sender: dict[int, int], made_by: dict[int, int]) -> int:
    """Return the row that made what `row` has put there: across a message, on the other rank."""
    return made_by.get(sender[row], -1) if row in sender else row


def _senders(run: AsRun) -> dict[int, int]:
    """Return the send that each receive belongs to."""
    ops = run.operations
    sends: dict[tuple[int, ...], list[int]] = defaultdict(list)
    turn: dict[tuple[int, ...], int] = defaultdict(int)
    found: dict[int, int] = {}
    for row in np.flatnonzero(ops.is_kind(Kind.SEND) & run.is_message).tolist():
        sends[_channel(run, row, int(ops.rank[row]), int(ops.peer[row]))].append(row)
    for row in np.flatnonzero(ops.is_kind(Kind.RECV) & run.is_message).tolist():
        key = _channel(run, row, int(ops.peer[row]), int(ops.rank[row]))
        if turn[key] < len(sends[key]):
            found[row] = sends[key][turn[key]]
        turn[key] += 1
    return found


def _channel(run: AsRun, row: int, source: int, target: int) -> tuple[int, ...]:
    ops = run.operations
    return int(ops.value[row]), int(ops.comm[row]), source, target
