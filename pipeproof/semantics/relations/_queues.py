"""The queues that message ends stand in, and what order within them means."""

from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, without
from pipeproof.ir.transport import Queue
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.frame import Frame

__all__ = ["Ends", "between_classes", "queues"]

_DIRECT = 2  # up to this many members on one side, pairs are cheaper than a gate


class Ends(NamedTuple):
    """Message ends in the order of their queues: `rows[k]` stands in queue `queue[k]`."""

    rows: IntArray
    queue: IntArray


def queues(frame: Frame) -> Ends:
    """Return every message end with the queue, at its own rank, that it stands in.

    `edge`, `direction` and `pair` are kept per communicator, `rank` over all of them. A value
    that is neither forward nor backward counts as forward.
    """
    ops = frame.ops
    rows = np.flatnonzero(frame.run.is_message)
    rank, peer, comm = ops.rank[rows], ops.peer[rows], ops.comm[rows]
    comms = len(ops.comms)
    match frame.transport.queue:
        case Queue.NONE:
            return Ends(rows[:0], rows[:0])
        case Queue.EDGE:
            side = (ops.kind[rows] == Kind.SEND).astype(np.int64)
            key = ((rank * frame.ranks + peer) * 2 + side) * comms + comm
        case Queue.DIRECTION:
            back = ((ops.value[rows] >> 56) == int(ValueKind.B)).astype(np.int64)
            key = (rank * 2 + back) * comms + comm
        case Queue.PAIR:
            key = (rank * frame.ranks + peer) * comms + comm
        case Queue.RANK:
            key = rank
    order = np.lexsort((rows, key))
    return Ends(rows[order], key[order])


def between_classes(frame: Frame, ends: Ends, *, gated: bool = True) -> tuple[IntArray, int]:
    """Order each class of a queue before the next; a class is what one instruction posts there.

    The two ends of one message are never ordered against each other. With `gated`, large classes
    meet in a gate instead of in all their pairs.

    Returns:
        The pairs, shape `(n, 2)`, and how many gates they use.
    """
    rows, instruction = ends.rows, frame.ops.instruction[ends.rows]
    if not len(rows):
        return np.zeros((0, 2), np.int64), 0
    new_class = np.diff(instruction, prepend=-1) != 0
    new_queue = np.diff(ends.queue, prepend=-1) != 0
    first = np.flatnonzero(new_class | new_queue)
    size = np.diff(np.append(first, len(rows)))
    follows = np.flatnonzero(~new_queue[first])  # classes with one before them in their queue
    single = follows[(size[follows] == 1) & (size[follows - 1] == 1)]
    before, after = rows[first[single - 1]], rows[first[single]]
    pairs = [_order(frame, before, after)]
    gates = 0
    for each in without(follows, single):
        left = rows[first[each - 1] : first[each]]
        right = rows[first[each] : first[each] + size[each]]
        made, used = _between(frame, left, right, gates if gated else None)
        pairs.append(made)
        gates += used
    if not frame.together and np.any(frame.ops.peer[rows] == frame.ops.rank[rows]):
        pairs.append(_around_own(frame, ends, first))
    joined = np.concatenate(pairs)
    same = (joined[:, 0] - frame.first_transfer) // 2 == (joined[:, 1] - frame.first_transfer) // 2
    return joined[~same | (joined.max(axis=1) >= frame.events)], gates


def _around_own(frame: Frame, ends: Ends, first: IntArray) -> IntArray:
    """Order what stands around a receive and the send of the same message, one class behind.

    They do not hold each other back, so that what is ordered through both is ordered by itself.
    """
    rows, transfers = ends.rows, frame.pairing.of_row[ends.rows]
    place = np.full(len(frame.ops) + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    in_class = np.searchsorted(first, np.arange(len(rows)), side="right") - 1
    receive = place[frame.pairing.receive[transfers]]
    own = np.flatnonzero((receive >= 0) & (in_class[receive] == in_class - 1))
    own = own[ends.queue[receive[own]] == ends.queue[own]]
    bounds = [*first.tolist(), len(rows)]
    found: list[tuple[int, int]] = []
    held_back: dict[int, list[int]] = {}  # receives by the class of their sends
    for send in own.tolist():
        taken, number = int(receive[send]), int(in_class[send])
        held_back.setdefault(number, []).append(taken)
        found += ((early, send) for early in held_back.get(number - 2, ()))
        if number > 1:
            found += ((early, send) for early in range(bounds[number - 2], bounds[number - 1]))
        if number + 1 < len(first):
            found += ((taken, late) for late in range(bounds[number + 1], bounds[number + 2]))
    both = np.asarray(found, np.int64).reshape(-1, 2)
    both = both[ends.queue[both[:, 0]] == ends.queue[both[:, 1]]]
    return _order(frame, rows[both[:, 0]], rows[both[:, 1]])


def _order(frame: Frame, before: IntArray, after: IntArray) -> IntArray:
    return np.stack((_leaves(frame, before), _enters(frame, after)), axis=1)


def _leaves(frame: Frame, rows: IntArray) -> IntArray:
    """Return when message ends leave their queue; a dropped message leaves that of its sender."""
    transfers = frame.pairing.of_row[rows]
    if not frame.together:
        return frame.completed(rows)
    arrived = frame.arrived(transfers)
    faults = frame.run.faults
    for each in faults.struck if faults is not None else ():
        if each.kind == "dropped":
            own = (frame.run.base[rows] == each.base) & (frame.run.copy[rows] == each.copy)
            arrived = np.where(own, frame.drained(transfers), arrived)
    return arrived


def _enters(frame: Frame, rows: IntArray) -> IntArray:
    """Return the first moment of message ends that a queue holds back."""
    transfers = frame.pairing.of_row[rows]
    return frame.drained(transfers) if frame.together else frame.completed(rows)


def _between(
    frame: Frame, left: IntArray, right: IntArray, gates: int | None
) -> tuple[IntArray, int]:
    own = np.any(among(frame.pairing.of_row[right], frame.pairing.of_row[left]))
    if gates is None or own or min(len(left), len(right)) <= _DIRECT:
        grid = np.meshgrid(left, right, indexing="ij")
        return _order(frame, grid[0].reshape(-1), grid[1].reshape(-1)), 0
    gate = frame.events + gates
    into = np.stack((_leaves(frame, left), np.full(len(left), gate)), axis=1)
    out = np.stack((np.full(len(right), gate), _enters(frame, right)), axis=1)
    return np.concatenate((into, out)), 1
