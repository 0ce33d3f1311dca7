"""Transfers that may still be under way in their storage when other writes already stood there."""

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import numbered
from pipeproof.ir.storage import Stored, Touch
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._queues import queues

__all__ = ["under_way"]

_PAIRS = 20_000  # up to which all are asked for


def under_way(frame: Frame, stored: Stored) -> tuple[IntArray, IntArray]:
    """Return transfers, and the writes and frees behind the next one that they may reach to.

    A transfer reaches to where it is waited for; once a later one of its queue has begun, that
    stands for it. Of more than `_PAIRS` pairs, and more than there are accesses, only those of
    what is waited for last are asked for.
    """
    moving = np.flatnonzero(stored.moves & ~stored.guarded & (stored.after >= 0))
    writes = _writes(stored)
    if not len(moving) or not len(writes):
        return moving[:0], writes[:0]
    until = np.minimum(_waited(frame, stored, moving), _relieved(frame, stored, moving))
    first = np.searchsorted(writes, stored.after[moving], side="right")
    count = np.maximum(np.searchsorted(writes, until) - first, 0)
    if np.sum(count) > max(_PAIRS, len(stored)):
        return _waited_last(frame, stored, writes)
    transfer = np.repeat(moving, count)
    place = np.arange(len(transfer)) - np.repeat(np.cumsum(count) - count, count)
    behind = writes[np.repeat(first, count) + place]
    order = np.lexsort((transfer, behind))
    return transfer[order], behind[order]


def _writes(stored: Stored) -> IntArray:
    """Return the writes and frees behind others, but not a free of what is free already."""
    writes = np.flatnonzero((stored.touch != Touch.READ) & (stored.before >= 0) & ~stored.guarded)
    again = stored.touch[writes] == Touch.FREE
    again &= stored.touch[stored.before[writes]] == Touch.FREE
    return np.asarray(writes[~again])


def _moments(frame: Frame, stored: Stored, moving: IntArray) -> IntArray:
    """Return when transfers are waited for; behind all else where they never are."""
    waited = frame.awaited[stored.rows[moving]]
    return np.where(waited < 0, frame.first_transfer, waited)


def _waited(frame: Frame, stored: Stored, moving: IntArray) -> IntArray:
    """Return the first access of their storage that starts once transfers are waited for."""
    size = frame.first_transfer + 1
    starts = stored.storage * size + frame.start(stored.rows)
    moments = stored.storage[moving] * size + _moments(frame, stored, moving)
    return np.asarray(np.searchsorted(starts, moments))


def _relieved(frame: Frame, stored: Stored, moving: IntArray) -> IntArray:
    """Return the access behind the next transfer in their storage that transfers hold back.

    It stands in the same queue, in a later instruction. What a rank sends to itself is left out:
    the two ends of one message do not hold each other back.
    """
    found = np.full(len(moving), len(stored), np.int64)
    ends, rows = queues(frame), stored.rows[moving]
    queue = np.full(len(frame.ops), -1, np.int64)
    queue[ends.rows] = ends.queue
    chosen = np.flatnonzero((queue[rows] >= 0) & (frame.ops.peer[rows] != frame.ops.rank[rows]))
    if frame.atomic or not len(chosen):
        return found
    _, line = numbered(queue[rows[chosen]])
    line += stored.storage[moving[chosen]] * (int(line.max()) + 1)
    chosen = chosen[np.argsort(line, kind="stable")]
    line = np.sort(line, kind="stable")
    call = frame.ops.instruction[rows[chosen]]
    fresh = np.flatnonzero((np.diff(call, prepend=-1) != 0) | (np.diff(line, prepend=-1) != 0))
    behind = np.searchsorted(fresh, np.arange(len(chosen)), side="right")
    inside = behind < len(fresh)
    later = fresh[behind[inside]]
    same = line[later] == line[inside]
    found[chosen[inside][same]] = moving[chosen[later[same]]] + 1
    return found


def _waited_last(frame: Frame, stored: Stored, writes: IntArray) -> tuple[IntArray, IntArray]:
    """Return for writes what is waited for last of the transfers before the write before them.

    Only where that is after the write starts.
    """
    moving = np.flatnonzero(stored.moves & ~stored.guarded)
    waited = _moments(frame, stored, moving)
    order = np.lexsort((waited, stored.storage[moving]))
    rank = np.zeros(len(stored), np.int64)
    rank[moving[order]] = np.arange(1, len(moving) + 1)
    latest = np.maximum.accumulate(rank)
    writes = writes[stored.before[writes] > 0]
    latest = latest[stored.before[writes] - 1]
    writes, latest = writes[latest > 0], latest[latest > 0]
    last = order[latest - 1]
    transfer = moving[last]
    late = stored.storage[transfer] == stored.storage[writes]
    late &= waited[last] > frame.start(stored.rows[writes])
    return transfer[late], writes[late]
