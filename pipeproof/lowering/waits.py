"""Which instruction waits for which message, collective or reduction."""

import numpy as np

from pipeproof.ir.accesses import awaited_reads
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun, Waits
from pipeproof.ir.operations import NONE, IntArray, read_only
from pipeproof.ir.sets import numbered
from pipeproof.ir.transport import Wait

__all__ = ["write_in"]

_STARTED = (Kind.SEND, Kind.RECV, Kind.COLL, Kind.TIE, Kind.REDUCE, Kind.NORM)


def write_in(run: AsRun, wait: Wait) -> Waits:
    """Return every wait: of WAIT for what its handle started, and of messages without a handle.

    Such a message completes before the next instruction (`blocking`), or before its first reader
    on the rank, else before the rank's next STEP or SKIP, else before the program ends
    (`at-use`), or nobody waits for it (`explicit`). A collective without a handle ends before
    the next instruction under every transport.
    """
    rows, moments = _handled(run)
    ops = run.operations
    free = ops.handle == NONE
    blocks = np.flatnonzero(free & ops.is_kind(Kind.COLL, Kind.TIE))
    messages = np.flatnonzero(free & run.is_message)
    parts = [(rows, moments), (blocks, 2 * ops.instruction[blocks] + 1)]
    match wait:
        case Wait.BLOCKING:
            parts.append((messages, 2 * ops.instruction[messages] + 1))
        case Wait.AT_USE:
            parts.append((messages, _at_use(run, messages)))
        case Wait.EXPLICIT:
            pass
    return Waits(
        read_only(np.concatenate([rows for rows, _ in parts])),
        read_only(np.concatenate([moments for _, moments in parts])),
    )


def _handled(run: AsRun) -> tuple[IntArray, IntArray]:
    """Pair each row that was started under a handle with the WAIT that follows it, if any."""
    ops = run.operations
    started = np.flatnonzero((ops.handle != NONE) & ops.is_kind(*_STARTED))
    waiting = np.flatnonzero(ops.is_kind(Kind.WAIT))
    if not len(started) or not len(waiting):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    names = max(len(ops.handles), 1)
    size = len(ops) + 1
    key = (ops.rank * names + ops.handle) * size
    waits = np.sort(key[waiting] + waiting)
    at = np.searchsorted(waits, key[started] + started)
    found = at < len(waits)
    found[found] = waits[at[found]] // size == (key[started] // size)[found]
    rows = started[found]
    return rows, 2 * ops.instruction[waits[at[found]] % size] + 1


def _at_use(run: AsRun, messages: IntArray) -> IntArray:
    ops = run.operations
    moments = _next_boundary(run, messages)
    receives = ops.is_kind(Kind.RECV)[messages]
    reader = _first_reader(run, messages[receives])
    moments[receives] = np.minimum(moments[receives], reader)
    return moments


def _next_boundary(run: AsRun, messages: IntArray) -> IntArray:
    """Return the start of the rank's next STEP or SKIP, else the end of its program."""
    ops = run.operations
    rank = ops.rank[messages]
    end = 2 * int(run.rank_start[-1]) + rank
    steps = np.flatnonzero(ops.is_kind(Kind.STEP, Kind.SKIP))
    if not len(steps):
        return end
    at = np.searchsorted(steps, messages, side="right")
    step = steps[np.minimum(at, len(steps) - 1)]
    same = (at < len(steps)) & (ops.rank[step] == rank)
    return np.where(same, 2 * ops.instruction[step], end)


def _first_reader(run: AsRun, receives: IntArray) -> IntArray:
    """Return the start of the first instruction after each receive that reads its value."""
    ops, reading = run.operations, awaited_reads(run)
    never = np.full(len(receives), np.iinfo(np.int64).max)
    if not len(reading.rows) or not len(receives):
        return never
    ranks = int(ops.rank.max()) + 1
    values = np.concatenate((reading.values, ops.value[receives]))
    _, number = numbered(values)
    size = len(ops) + 1
    rows = np.concatenate((reading.rows, receives))
    key = (number * ranks + ops.rank[rows]) * size + rows
    readers = np.sort(key[: len(reading.rows)])
    own = key[len(reading.rows) :]
    last = own - receives + ops.first_row[ops.instruction[receives]]
    last += _width(run)[ops.instruction[receives]]
    at = np.searchsorted(readers, last)
    found = at < len(readers)
    found[found] = readers[at[found]] // size == (own // size)[found]
    never[found] = 2 * ops.instruction[readers[at[found]] % size]
    return never


def _width(run: AsRun) -> IntArray:
    """Return how many rows each instruction has."""
    ops = run.operations
    return np.diff(np.append(ops.first_row, len(ops)))
