"""Which send meets which receive, and which signal ends which AWAIT."""

from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray, Operations, read_only
from pipeproof.ir.sets import among, numbered
from pipeproof.ir.transport import Match

__all__ = ["Pairing", "pair_messages", "pair_signals"]


class Pairing(NamedTuple):
    """Transfers: `send[t]` and `receive[t]` are rows, -1 for an end that does not exist.

    `channel[t]` numbers the directed pair of ranks and communicator; `of_row` maps a row to its
    transfer, -1 for rows that are no messages. Where a message is duplicated, a receive that takes
    the copy has the send of the original; `of_row` has the original.
    """

    send: IntArray
    receive: IntArray
    channel: IntArray
    of_row: IntArray

    def __len__(self) -> int:
        return len(self.send)


def channels(ops: Operations, rows: IntArray, ranks: int) -> IntArray:
    """Number the channel (source, destination, communicator) of each message in `rows`."""
    sends = ops.kind[rows] == Kind.SEND
    source = np.where(sends, ops.rank[rows], ops.peer[rows])
    destination = np.where(sends, ops.peer[rows], ops.rank[rows])
    return np.asarray((source * ranks + destination) * len(ops.comms) + ops.comm[rows])


def pair_messages(run: AsRun, match: Match) -> Pairing:
    """Pair the k-th send of a channel with its k-th receive; by tag, the k-th of each value."""
    ops = run.operations
    rows = np.flatnonzero(run.is_message)
    copied = _copied(run)
    rows = np.sort(np.concatenate((rows, copied))) if len(copied) else rows
    channel = channels(ops, rows, run.schedule.ranks)
    key = channel
    if match is Match.TAG:
        _, value = numbered(ops.value[rows])
        key = channel * (len(rows) + 1) + value
    _, number = numbered(key)
    key = number
    sends = ops.kind[rows] == Kind.SEND
    paired, lone_sends, lone_receives = _join(key, rows, sends)
    lone_sends = _once(lone_sends, copied)
    send = np.concatenate((paired[0], lone_sends, np.full(len(lone_receives), -1)))
    receive = np.concatenate((paired[1], np.full(len(lone_sends), -1), lone_receives))
    of_row = np.full(len(ops), -1, np.int64)
    number = np.arange(len(send))
    of_row[send[send >= 0][::-1]] = number[send >= 0][::-1]  # of an original, not of its copy
    of_row[receive[receive >= 0]] = number[receive >= 0]
    anchor = np.where(send >= 0, send, receive)
    on = channels(ops, anchor, run.schedule.ranks)
    return Pairing(read_only(send), read_only(receive), read_only(on), read_only(of_row))


def _copied(run: AsRun) -> IntArray:
    """Return the sends of messages that are duplicated, once for each copy."""
    struck = run.faults.struck if run.faults is not None else ()
    found = [
        np.flatnonzero((run.base == each.base) & (run.copy == each.copy))
        for each in struck
        if each.kind == "duplicated"
    ]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _once(lone: IntArray, copied: IntArray) -> IntArray:
    """Leave out copies that nobody takes: they stay where they are and do nothing."""
    for row in copied.tolist():
        lone = np.delete(lone, np.flatnonzero(lone == row)[:1])
    return lone


def pair_signals(run: AsRun) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows (signal, await) that pair, in order, and the AWAITs that nothing ends."""
    ops = run.operations
    rows = np.flatnonzero(ops.is_kind(Kind.SIGNAL, Kind.AWAIT))
    signals = ops.kind[rows] == Kind.SIGNAL
    source = np.where(signals, ops.rank[rows], ops.peer[rows])
    destination = np.where(signals, ops.peer[rows], ops.rank[rows])
    key = source * (int(destination.max(initial=0)) + 2) + destination
    paired, _, lone = _join(key, rows, signals)
    return paired[0], paired[1], lone


def _join(
    key: IntArray, rows: IntArray, left: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> tuple[tuple[IntArray, IntArray], IntArray, IntArray]:
    """Join the k-th left row of each key with its k-th right row; return what is left over."""
    lrows, lkey = _numbered(key[left], rows[left])
    rrows, rkey = _numbered(key[~left], rows[~left])
    ri = np.searchsorted(rkey, lkey)
    li = np.flatnonzero(among(lkey, rkey))
    ri = ri[li]
    order = np.argsort(lrows[li], kind="stable")
    li, ri = li[order], ri[order]
    return (lrows[li], rrows[ri]), _without(lrows, li), _without(rrows, ri)


def _numbered(key: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Sort rows by key and order; number them within their key: `key · size + ordinal`."""
    order = np.argsort(key, kind="stable")
    key, rows = key[order], rows[order]
    fresh = np.flatnonzero(np.diff(key, prepend=-1) != 0) if len(key) else np.zeros(0, np.int64)
    ordinal = np.arange(len(key)) - np.repeat(fresh, np.diff(np.append(fresh, len(key))))
    return rows, key * (2**31) + ordinal


def _without(rows: IntArray, taken: IntArray) -> IntArray:
    return np.sort(np.delete(rows, taken))
