"""What orders events, spoiled on purpose: one kind of pair or one threshold at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.transport import Completion, Queue
from pipeproof.semantics.assumptions import relations
from pipeproof.semantics.found import Credit, Edges
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import HAPPENS_BEFORE, PROGRESS
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations import EDGES, moving
from tests.properties import spoils
from tests.properties.spoils import Spoil

__all__ = ["MUTATIONS", "Mutation"]

ORDERS = (PROGRESS, HAPPENS_BEFORE)
WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Mutation:
    """A relation and what is done to it."""

    edge: str
    what: str
    spoil: Spoil

    @property
    def name(self) -> str:
        return f"{self.edge}: {self.what}"

    @contextmanager
    def made(self) -> Iterator[None]:
        """Judge by the spoiled relation inside."""
        if self.edge == WEAK:
            with patch.object(Model, "weak", np.zeros(0, np.int64)):
                yield
            return
        original = EDGES[self.edge]
        with patch.dict(EDGES, {self.edge: lambda frame: self.spoil(frame, original(frame))}):
            yield

    def changes(self, frame: Frame) -> bool:
        """Whether it does anything to the order of a program."""
        if self.edge == WEAK:
            names = [n for n, name in enumerate(frame.ops.comms) if name in frame.transport.weak]
            return bool(np.any(np.isin(frame.ops.comm[frame.run.is_message], names)))
        used = {each for order in ORDERS for each in relations(frame.transport, order)}
        if self.edge not in {"struck", *used}:
            return False
        edges = EDGES[self.edge](frame)
        return _differ(edges, self.spoil(frame, edges))


def _differ(one: Edges, other: Edges) -> bool:
    if {*map(tuple, one.pairs.tolist())} != {*map(tuple, other.pairs.tolist())}:
        return True
    if {*one.never.tolist()} != {*other.never.tolist()}:
        return True
    return [_written(each) for each in one.credits] != [_written(each) for each in other.credits]


def _written(credit: Credit) -> tuple[list[int], list[int], int]:
    return credit.drained.tolist(), credit.arrived.tolist(), credit.capacity


def _behind_of(queue: Queue, before: Kind, after: Kind) -> Mutation:
    what = f"queue {queue.value}, {after.name} behind {before.name} dropped"
    return Mutation(
        "queued", what, spoils.only_if(spoils.with_queue_of(queue), spoils.behind(before, after))
    )


ALIKE = ((Kind.SEND, Kind.SEND), (Kind.RECV, Kind.RECV))
MIXED = ((Kind.RECV, Kind.SEND), (Kind.SEND, Kind.RECV))

MUTATIONS: tuple[Mutation, ...] = (
    Mutation("program", "dropped", spoils.everything),
    Mutation(
        "program", "the last instruction before the end dropped", spoils.where(spoils.closing)
    ),
    Mutation("issue", "dropped", spoils.everything),
    Mutation("signalled", "dropped", spoils.everything),
    Mutation("signalled", "one signal is enough for every AWAIT", spoils.one_signal),
    Mutation("signalled", "an AWAIT without SIGNAL ends", spoils.never),
    Mutation("collective", "dropped", spoils.everything),
    Mutation("collective", "the entries dropped", spoils.where(spoils.entering)),
    Mutation("collective", "the last entry dropped", spoils.last_entry),
    Mutation("collective", "the end of an entry without handle dropped", spoils.leaving),
    Mutation("collective", "the end of a WAIT dropped", spoils.left_by_wait),
    Mutation("collective", "one that somebody never enters is left", spoils.never),
    Mutation("collective_order", "dropped", spoils.everything),
    Mutation("collective_order", "kind=all dropped", spoils.of_kind("all")),
    Mutation("collective_order", "kind=from dropped", spoils.of_kind("from")),
    Mutation("collective_order", "kind=to dropped", spoils.of_kind("to")),
    Mutation("collective_order", "every kind taken as all", spoils.as_all),
    Mutation("transferred", "dropped", spoils.everything),
    Mutation("transferred", "SEND posted before drained dropped", spoils.where(spoils.sent)),
    Mutation("transferred", "RECV posted before arrived dropped", spoils.where(spoils.received)),
    Mutation("transferred", "drained before arrived dropped", spoils.where(spoils.moved)),
    Mutation("transferred", "a RECV without partner completes", spoils.lone(Kind.RECV)),
    Mutation("transferred", "a SEND without partner completes", spoils.lone(Kind.SEND)),
    Mutation("met", "dropped", spoils.everything),
    Mutation("waited", "dropped", spoils.everything),
    Mutation("waited", "WAIT for a send dropped", spoils.waits(lambda w: w.handled & w.sends)),
    Mutation("waited", "WAIT for a receive dropped", spoils.waits(lambda w: w.handled & ~w.sends)),
    Mutation("waited", "WAIT for a bracket dropped", spoils.waits(lambda w: w.handled & w.grouped)),
    Mutation("waited", "WAIT for all but the last dropped", spoils.waits(spoils.all_but_last)),
    Mutation("waited", "blocking send dropped", spoils.waits(lambda w: w.blocking & w.sends)),
    Mutation("waited", "blocking receive dropped", spoils.waits(lambda w: w.blocking & ~w.sends)),
    Mutation("waited", "blocking bracket dropped", spoils.waits(lambda w: w.blocking & w.grouped)),
    Mutation("waited", "at-use, reader dropped", spoils.waits(lambda w: w.read)),
    Mutation("waited", "at-use, STEP or SKIP dropped", spoils.waits(lambda w: w.stepped)),
    Mutation(
        "waited", "at-use, send at the end dropped", spoils.waits(lambda w: w.ended & w.sends)
    ),
    Mutation(
        "waited", "at-use, receive at the end dropped", spoils.waits(lambda w: w.ended & ~w.sends)
    ),
    Mutation(
        "queued",
        "of rendezvous dropped",
        spoils.only_if(spoils.completing(Completion.RENDEZVOUS), spoils.everything),
    ),
    Mutation(
        "queued",
        "of buffered dropped",
        spoils.only_if(spoils.completing(Completion.BUFFERED), spoils.everything),
    ),
    *(_behind_of(Queue.EDGE, *both) for both in ALIKE),
    *(_behind_of(Queue.DIRECTION, *both) for both in (*ALIKE, *MIXED)),
    *(_behind_of(Queue.PAIR, *both) for both in (*ALIKE, *MIXED)),
    *(_behind_of(Queue.RANK, *both) for both in (*ALIKE, *MIXED)),
    Mutation(
        *("queued", "queue direction taken as edge"),
        spoils.only_if(
            spoils.with_queue_of(Queue.DIRECTION), spoils.taken_as(moving.queued, Queue.EDGE)
        ),
    ),
    Mutation(
        *("queued", "queue pair taken as edge"),
        spoils.only_if(
            spoils.with_queue_of(Queue.PAIR), spoils.taken_as(moving.queued, Queue.EDGE)
        ),
    ),
    Mutation(
        *("queued", "queue rank taken as pair"),
        spoils.only_if(
            spoils.with_queue_of(Queue.RANK), spoils.taken_as(moving.queued, Queue.PAIR)
        ),
    ),
    Mutation(
        *("queued", "queue rank kept for each communicator"),
        spoils.only_if(spoils.with_queue_of(Queue.RANK), spoils.by_communicator),
    ),
    Mutation("queued", "members of a group ordered (too strict)", spoils.all_posted_alone),
    Mutation("credited", "thresholds dropped", spoils.thresholds),
    Mutation("credited", "thresholds taken as edges", spoils.counts_as_edges),
    Mutation("credited", "edges of one credit dropped", spoils.edges_only(lambda k: k == 1)),
    Mutation("credited", "edges of more credits dropped", spoils.edges_only(lambda k: k > 1)),
    Mutation("credited", "one credit more", spoils.credit(1)),
    Mutation("credited", "one credit less (too strict)", spoils.credit(-1)),
    Mutation("grouped", "dropped", spoils.everything),
    Mutation(
        "grouped",
        "SEND posted before the set moves dropped",
        spoils.where(spoils.posted(Kind.SEND)),
    ),
    Mutation(
        "grouped",
        "RECV posted before the set moves dropped",
        spoils.where(spoils.posted(Kind.RECV)),
    ),
    Mutation("grouped", "messages move before their set does", spoils.where(spoils.opened)),
    Mutation("grouped", "a set with an end without partner moves", spoils.never),
    Mutation("grouped", "brackets are not linked by messages", spoils.sets_apart),
    Mutation("grouped", "queues dropped", spoils.where(spoils.queued_sets)),
    Mutation("entered", "dropped", spoils.everything),
    Mutation("entered", "a first call that is never answered returns", spoils.never),
    Mutation("entered", "over all communicators", spoils.one_communicator),
    Mutation("entered", "a bracket enters by its first member only", spoils.first_member),
    Mutation(WEAK, "messages move while nobody is in a call", spoils.everything),
    Mutation("guarded", "dropped", spoils.everything),
    Mutation("guarded", "readers of the slot dropped", spoils.slot_readers),
    Mutation("guarded", "writers of the slot dropped", spoils.slot_writers),
    Mutation("readiness", "dropped", spoils.all_of_it),
    Mutation("readiness", "a reader does not wait for its message", spoils.of_ready(messages=True)),
    Mutation(
        "readiness",
        "a receive does not wait for its message to be posted",
        spoils.of_ready(messages=False),
    ),
    Mutation("readiness", "what cannot be picked runs", spoils.never),
    Mutation("struck", "dropped", spoils.all_of_it),
    Mutation(
        "struck", "a rank that is missing or has stopped goes on", spoils.kept_back(messages=False)
    ),
    Mutation("struck", "a message that is dropped arrives", spoils.kept_back(messages=True)),
)
