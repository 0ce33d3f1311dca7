"""Ways to spoil what a relation orders: drop pairs, move thresholds, take one for another."""

import copy
import dataclasses
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Bracket, IntArray
from pipeproof.ir.storage import Touch
from pipeproof.ir.transport import Completion, Queue
from pipeproof.semantics.found import Edges, no_edges
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations import _queues, moving, running, storage

Mask = npt.NDArray[np.bool_]
Spoil = Callable[[Frame, Edges], Edges]


def everything(_frame: Frame, edges: Edges) -> Edges:
    return no_edges()._replace(gates=edges.gates)


def never(_frame: Frame, edges: Edges) -> Edges:
    return edges._replace(never=no_edges().never)


def _without(edges: Edges, dropped: Mask) -> Edges:
    return edges._replace(pairs=edges.pairs[~dropped])


def where(chosen: Callable[[Frame, IntArray, IntArray], Mask]) -> Spoil:
    """Drop the pairs of which the events are so."""

    def spoil(frame: Frame, edges: Edges) -> Edges:
        return _without(edges, chosen(frame, edges.pairs[:, 0], edges.pairs[:, 1]))

    return spoil


# programs, signals


def closing(frame: Frame, _before: IntArray, after: IntArray) -> Mask:
    return np.asarray(after >= frame.ends)


def one_signal(_frame: Frame, edges: Edges) -> Edges:
    """One signal is enough for every AWAIT: that of the first pair."""
    pairs = edges.pairs.copy()
    if len(pairs):
        pairs[:, 0] = pairs[:, 0].min()
    return edges._replace(pairs=pairs)


# collectives


def entering(frame: Frame, _before: IntArray, after: IntArray) -> Mask:
    return np.asarray(after >= frame.events)


def last_entry(frame: Frame, edges: Edges) -> Edges:
    """Nobody waits for the entry of the highest rank."""
    into = edges.pairs[:, 1] >= frame.events
    dropped = np.zeros(len(edges.pairs), np.bool_)
    for gate in {*edges.pairs[into, 1].tolist()}:
        own = np.flatnonzero(edges.pairs[:, 1] == gate)
        dropped[own[np.argmax(edges.pairs[own, 0])]] = True
    return _without(edges, dropped)


def _leaves_itself(frame: Frame, edges: Edges) -> Mask:
    """Which pairs let a rank leave a collective at the end of the entry itself."""
    ops = frame.ops
    entries = np.flatnonzero(ops.is_kind(Kind.COLL, Kind.TIE))
    out = edges.pairs[:, 0] >= frame.events
    return np.asarray(out & np.isin(edges.pairs[:, 1], frame.done(entries)))


def leaving(frame: Frame, edges: Edges) -> Edges:
    return _without(edges, _leaves_itself(frame, edges))


def left_by_wait(frame: Frame, edges: Edges) -> Edges:
    out = edges.pairs[:, 0] >= frame.events
    return _without(edges, np.asarray(out & ~_leaves_itself(frame, edges)))


def of_kind(kind: str) -> Spoil:
    """Drop all that collectives of one kind order."""

    def spoil(frame: Frame, edges: Edges) -> Edges:
        found = [meeting.kind.partition("=")[0] == kind for meeting in running.meetings(frame)]
        gates = frame.events + np.flatnonzero(found)
        return _without(edges, np.asarray(np.isin(edges.pairs, gates).any(axis=1)))

    return spoil


def as_all(frame: Frame, _edges: Edges) -> Edges:
    return running.collective(frame)


# messages


def sent(frame: Frame, before: IntArray, after: IntArray) -> Mask:
    even = (after - frame.first_transfer) % 2 == 0
    return np.asarray((before < frame.ends) & even)


def received(frame: Frame, before: IntArray, after: IntArray) -> Mask:
    odd = (after - frame.first_transfer) % 2 == 1
    return np.asarray((before < frame.ends) & odd)


def moved(frame: Frame, before: IntArray, _after: IntArray) -> Mask:
    return np.asarray(before >= frame.first_transfer)


def lone(kind: Kind) -> Spoil:
    """An end without a partner completes."""

    def spoil(frame: Frame, edges: Edges) -> Edges:
        pairing = frame.pairing
        lone = pairing.receive < 0 if kind is Kind.SEND else pairing.send < 0
        transfers = np.flatnonzero(lone)
        own = np.concatenate((frame.drained(transfers), frame.arrived(transfers)))
        return edges._replace(never=edges.never[~np.isin(edges.never, own)])

    return spoil


# waits


class _Waiting:
    """The waits for messages, one for each pair of the relation, and what they are of."""

    def __init__(self, frame: Frame) -> None:
        ops = frame.ops
        chosen = frame.run.is_message[frame.waits.rows]
        self.rows, self.moments = frame.waits.rows[chosen], frame.waits.moments[chosen]
        self.handled = ops.handle[self.rows] >= 0
        self.blocking = ~self.handled & (self.moments == frame.done(self.rows))
        self.ended = ~self.handled & (self.moments >= frame.ends)
        started = ~self.handled & ~self.blocking & ~self.ended
        steps = frame.start(np.flatnonzero(ops.is_kind(Kind.STEP, Kind.SKIP)))
        self.stepped = started & np.isin(self.moments, steps)
        self.read = started & ~self.stepped
        self.grouped = ops.bracket[self.rows] == Bracket.GROUP
        self.sends = ops.is_kind(Kind.SEND)[self.rows]


def waits(chosen: Callable[[_Waiting], Mask]) -> Spoil:
    def spoil(frame: Frame, edges: Edges) -> Edges:
        return _without(edges, chosen(_Waiting(frame)))

    return spoil


def all_but_last(waiting: _Waiting) -> Mask:
    """What was started under a handle before the last of it."""
    dropped = waiting.handled.copy()
    for moment in {*waiting.moments[waiting.handled].tolist()}:
        own = np.flatnonzero(waiting.handled & (waiting.moments == moment))
        dropped[own[np.argmax(waiting.rows[own])]] = False
    return dropped


# queues


def with_queue_of(*queues: Queue) -> Callable[[Frame], bool]:
    return lambda frame: frame.transport.queue in queues


def completing(completion: Completion) -> Callable[[Frame], bool]:
    return lambda frame: frame.transport.completion is completion


def only_if(holds: Callable[[Frame], bool], spoil: Spoil) -> Spoil:
    return lambda frame, edges: spoil(frame, edges) if holds(frame) else edges


def behind(before: Kind, after: Kind) -> Spoil:
    """Ends of one kind are not kept back behind ends of another."""

    def spoil(frame: Frame, _edges: Edges) -> Edges:
        original = _queues._order

        def order(frame: Frame, left: IntArray, right: IntArray) -> IntArray:
            dropped = frame.ops.is_kind(before)[left] & frame.ops.is_kind(after)[right]
            return original(frame, left[~dropped], right[~dropped])

        with patch.object(_queues, "_order", order):
            return moving.queued(frame)

    return spoil


def taken_as(relation: Callable[[Frame], Edges], queue: Queue) -> Spoil:
    """The queue is taken as another one."""

    def spoil(frame: Frame, _edges: Edges) -> Edges:
        return relation(_under(frame, queue=queue))

    return spoil


def _under(frame: Frame, queue: Queue | None = None, capacity: int | None = None) -> Frame:
    other, transport = copy.copy(frame), frame.transport
    if queue is not None:
        transport = dataclasses.replace(transport, queue=queue)
    if capacity is not None:
        transport = dataclasses.replace(transport, capacity=capacity)
    other.transport = transport
    return other


def by_communicator(frame: Frame, _edges: Edges) -> Edges:
    """A queue of a rank is kept for each communicator."""
    original = _queues.queues

    def queues(frame: Frame) -> _queues.Ends:
        ends = original(frame)
        key = ends.queue * len(frame.ops.comms) + frame.ops.comm[ends.rows]
        order = np.lexsort((ends.rows, key))
        return _queues.Ends(ends.rows[order], key[order])

    with patch.object(moving, "queues", queues):
        return moving.queued(frame)


def all_posted_alone(frame: Frame, _edges: Edges) -> Edges:
    """Members of a group are taken as posted one after the other: too strict."""
    original = _queues.between_classes

    def between(frame: Frame, ends: _queues.Ends, *, gated: bool = True) -> tuple[IntArray, int]:
        _, gates = original(frame, ends, gated=gated)
        rows, queue = ends.rows, ends.queue
        same = queue[1:] == queue[:-1]
        return _queues._order(frame, rows[:-1][same], rows[1:][same]), gates

    with patch.object(moving, "between_classes", between):
        return moving.queued(frame)


# credits


def credit(more: int) -> Spoil:
    """One credit more or less than there is."""

    def spoil(frame: Frame, edges: Edges) -> Edges:
        capacity = frame.transport.capacity
        if capacity is None or capacity + more < 1:
            return edges
        return moving.credited(_under(frame, capacity=capacity + more))

    return spoil


def thresholds(_frame: Frame, edges: Edges) -> Edges:
    return edges._replace(credits=())


def counts_as_edges(_frame: Frame, edges: Edges) -> Edges:
    """A count is taken as an edge, although receives come out of order."""
    pairs = [
        np.stack((each.arrived[: -each.capacity], each.drained[each.capacity :]), axis=1)
        for each in edges.credits
    ]
    return edges._replace(pairs=np.concatenate([edges.pairs, *pairs]), credits=())


def edges_only(holds: Callable[[int], bool]) -> Spoil:
    def spoil(frame: Frame, edges: Edges) -> Edges:
        wanted = holds(frame.transport.capacity or 0)
        return edges._replace(pairs=edges.pairs[:0]) if wanted else edges

    return spoil


# atomic groups


def posted(kind: Kind) -> Callable[[Frame, IntArray, IntArray], Mask]:
    def chosen(frame: Frame, before: IntArray, after: IntArray) -> Mask:
        rows = np.flatnonzero(frame.ops.is_kind(kind) & frame.run.is_message)
        other = Kind.RECV if kind is Kind.SEND else Kind.SEND
        both = np.flatnonzero(frame.ops.is_kind(other) & frame.run.is_message)
        starts = np.setdiff1d(frame.start(rows), frame.start(both))
        return np.asarray((after >= frame.events) & np.isin(before, starts))

    return chosen


def opened(frame: Frame, before: IntArray, _after: IntArray) -> Mask:
    return np.asarray(before >= frame.events)


def queued_sets(frame: Frame, before: IntArray, after: IntArray) -> Mask:
    return np.asarray((before >= frame.first_transfer) & (after >= frame.events))


def sets_apart(frame: Frame, _edges: Edges) -> Edges:
    """What two brackets exchange moves by itself, whatever else they hold."""
    number = np.arange(len(frame.pairing))
    with patch.object(moving, "moving_sets", lambda _frame: number):
        return moving.grouped(frame)


# lazy communicators


def one_communicator(frame: Frame, _edges: Edges) -> Edges:
    """A first call on any communicator is one on all."""
    apart = copy.copy(frame)
    ops = dataclasses.replace(frame.ops, comm=np.zeros(len(frame.ops), np.int64))
    apart.run = dataclasses.replace(frame.run, operations=ops)
    return moving.entered(apart)


def first_member(frame: Frame, edges: Edges) -> Edges:
    """A bracket enters the communicator of its first member only."""
    kept: dict[int, int] = {}
    for k, after in enumerate(edges.pairs[:, 1].tolist()):
        kept.setdefault(after, k)
    return edges._replace(pairs=edges.pairs[sorted(kept.values())])


# guarded slots


def _behind_writers(frame: Frame) -> Mask:
    """Which pairs let a writer of a slot wait for the one before it."""
    stored = frame.run.storage
    pairs = storage.guarded(frame).pairs
    if stored is None:
        return np.zeros(len(pairs), np.bool_)
    own = stored.guarded & (stored.touch == Touch.WRITE) & (stored.before >= 0)
    before = storage._ends(frame, stored)[stored.before[own]]
    after = frame.start(stored.rows[own])
    keys = before * frame.events + after
    return np.isin(pairs[:, 0] * frame.events + pairs[:, 1], keys)


def slot_writers(frame: Frame, edges: Edges) -> Edges:
    return _without(edges, _behind_writers(frame))


def slot_readers(frame: Frame, edges: Edges) -> Edges:
    return _without(edges, ~_behind_writers(frame))


# ready ranks, faults


def all_of_it(frame: Frame, edges: Edges) -> Edges:
    return never(frame, everything(frame, edges))


def of_ready(*, messages: bool) -> Spoil:
    """Readers do not wait for their messages, or receives not for theirs to be posted."""

    def spoil(frame: Frame, edges: Edges) -> Edges:
        ready = frame.run.ready
        count = 0 if ready is None else len(ready.completed)
        return edges._replace(pairs=edges.pairs[count:] if messages else edges.pairs[:count])

    return spoil


def kept_back(*, messages: bool) -> Spoil:
    """A message that is dropped arrives, or a rank that has stopped goes on."""

    def spoil(frame: Frame, edges: Edges) -> Edges:
        moving = edges.never >= frame.first_transfer
        return edges._replace(never=edges.never[moving != messages])

    return spoil
