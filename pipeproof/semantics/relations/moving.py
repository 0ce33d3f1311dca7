"""How messages move: what posts, queues, credits, groups and waits order."""

from itertools import pairwise

import numpy as np

from pipeproof.ir.operations import Bracket, IntArray
from pipeproof.ir.sets import distinct, first_of, numbered
from pipeproof.ir.transport import Match, Queue
from pipeproof.semantics.found import Credit, Edges
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._queues import between_classes, queues

__all__ = [
    "credited",
    "entered",
    "grouped",
    "met",
    "moving_sets",
    "queued",
    "transferred",
    "waited",
]


def _pairs(before: IntArray, after: IntArray) -> IntArray:
    return np.stack((before, after), axis=1)


def _all(frame: Frame) -> tuple[IntArray, IntArray, IntArray]:
    """Return the transfers, and which have a send and which a receive (as index arrays)."""
    number = np.arange(len(frame.pairing))
    return number, number[frame.pairing.send >= 0], number[frame.pairing.receive >= 0]


def transferred(frame: Frame) -> Edges:
    """A message is posted, then drained from its source, then arrived at its destination.

    Source: theory, events of a send and its receive; needed under every transport.
    """
    pairing = frame.pairing
    number, sent, received = _all(frame)
    lone_receive = number[pairing.send < 0]
    lone_send = number[pairing.receive < 0]
    never = [frame.drained(lone_receive), frame.arrived(lone_receive), frame.arrived(lone_send)]
    if frame.together:
        never.append(frame.drained(lone_send))
    pairs = (
        _pairs(frame.start(pairing.send[sent]), frame.drained(sent)),
        _pairs(frame.drained(number), frame.arrived(number)),
        _pairs(frame.start(pairing.receive[received]), frame.arrived(received)),
    )
    return Edges(np.concatenate(pairs), never=np.concatenate(never))


def met(frame: Frame) -> Edges:
    """Nothing is buffered: a message leaves its source once its receive is posted too."""
    _, _, received = _all(frame)
    return Edges(_pairs(frame.start(frame.pairing.receive[received]), frame.drained(received)))


def waited(frame: Frame) -> Edges:
    """Whoever waits for a message goes on after it is complete for its own rank."""
    messages = frame.run.is_message[frame.waits.rows]
    rows, moments = frame.waits.rows[messages], frame.waits.moments[messages]
    return Edges(_pairs(frame.completed(rows), moments))


def queued(frame: Frame) -> Edges:
    """What stands in one queue completes in posting order.

    In rendezvous both ends stand in queues, so a message moves after those before it at either
    end are complete. Buffered, each end is ordered on its own: a send among what its rank drains,
    a receive among what arrives. Members of one group are posted together and not ordered.
    """
    ends = queues(frame)
    pairs, gates = between_classes(frame, ends)
    return Edges(pairs, gates=gates)


def credited(frame: Frame) -> Edges:
    """A send waits until at most `capacity - 1` messages before it in its channel have not arrived.

    Where receives come in order that is one edge (arrived n-k before drained n); with one
    credit too, since everything before must have arrived. Else it is a threshold.
    """
    capacity = frame.transport.capacity or 1
    pairing = frame.pairing
    _, sent, _ = _all(frame)
    sent = sent[pairing.of_row[pairing.send[sent]] == sent]  # the copy of a message takes no room
    order = np.lexsort((pairing.send[sent], pairing.channel[sent]))
    sent = sent[order]
    channel = pairing.channel[sent]
    bounds = np.flatnonzero(np.diff(channel, prepend=-1)) if len(channel) else channel
    pairs, thresholds = [np.zeros((0, 2), np.int64)], []
    for low, high in pairwise([*bounds.tolist(), len(channel)]):
        line = sent[low:high]
        if capacity == 1 or _in_order(frame, line):
            pairs.append(_pairs(frame.arrived(line[:-capacity]), frame.drained(line[capacity:])))
        elif len(line) > capacity:
            thresholds.append(Credit(frame.drained(line), frame.arrived(line), capacity))
    return Edges(np.concatenate(pairs), credits=tuple(thresholds))


def _in_order(frame: Frame, line: IntArray) -> bool:
    """Whether the transport makes the receives of a channel complete in the order of its sends."""
    transport = frame.transport
    orders = transport.queue in (Queue.EDGE, Queue.PAIR, Queue.RANK)
    if not orders or transport.match is not Match.ORDER:
        return False
    receives = frame.pairing.receive[line]
    receives = receives[receives >= 0]
    return bool(np.all(frame.ops.bracket[receives] != Bracket.GROUP))


def grouped(frame: Frame) -> Edges:
    """Brackets move as a whole: all that are linked by messages, once every one is posted.

    A message without bracket is a group of one. Where there are queues, they hold back all that
    moves together: brackets that stand in one queue never do.
    """
    pairing = frame.pairing
    number, sent, received = _all(frame)
    sets, gate = numbered(moving_sets(frame))
    gate = gate + frame.events
    lone = (pairing.send < 0) | (pairing.receive < 0)
    pairs = [
        _pairs(frame.start(pairing.send[sent]), gate[sent]),
        _pairs(frame.start(pairing.receive[received]), gate[received]),
        _pairs(gate, frame.drained(number)),
    ]
    if frame.transport.queue is not Queue.NONE:
        order, _ = between_classes(frame, queues(frame), gated=False)
        after = (order[:, 1] - frame.first_transfer) // 2
        pairs.append(_pairs(order[:, 0], gate[after]))
    return Edges(np.concatenate(pairs), gates=len(sets), never=distinct(gate[lone]))


def moving_sets(frame: Frame) -> IntArray:
    """Number, for each transfer, the brackets that move together with it under atomic groups."""
    pairing, instruction = frame.pairing, frame.ops.instruction
    own = pairing.send >= 0
    own[own] = pairing.of_row[pairing.send[own]] == np.flatnonzero(own)  # not of a copy
    linked = np.flatnonzero(own & (pairing.receive >= 0))
    left, right = instruction[pairing.send[linked]], instruction[pairing.receive[linked]]
    set_of = _linked_sets(left, right, frame.instructions)
    anchor = np.where(own, pairing.send, pairing.receive)
    return np.asarray(set_of[instruction[anchor]])


def _linked_sets(left: IntArray, right: IntArray, size: int) -> IntArray:
    """Return for each of `size` items the smallest item that a chain of links joins it to."""
    smallest = np.arange(size)
    while True:
        before = smallest.copy()
        low = np.minimum(smallest[left], smallest[right])
        np.minimum.at(smallest, left, low)
        np.minimum.at(smallest, right, low)
        smallest = smallest[smallest]
        if np.array_equal(before, smallest):
            return smallest


def entered(frame: Frame) -> Edges:
    """With lazy communicators, a rank's first call with another returns after the other's began.

    Per communicator; a bracket enters the communicators of all its members at once.
    """
    ops = frame.ops
    rows = np.flatnonzero(frame.run.is_message)
    rows = rows[ops.peer[rows] != ops.rank[rows]]
    key = (ops.rank[rows] * frame.ranks + ops.peer[rows]) * len(ops.comms) + ops.comm[rows]
    mirror = (ops.peer[rows] * frame.ranks + ops.rank[rows]) * len(ops.comms) + ops.comm[rows]
    calls, first = first_of(key)
    at = np.searchsorted(calls, mirror[first])
    found = at < len(calls)
    found[found] = calls[at[found]] == mirror[first][found]
    other = rows[first[at[found]]]
    pairs = _pairs(frame.start(other), frame.done(rows[first[found]]))
    return Edges(pairs, never=distinct(frame.done(rows[first[~found]])))
