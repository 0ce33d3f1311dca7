"""Every kind of edge and every threshold is needed: somebody sees where one is missing."""

import sys

import pytest

from pipeproof.semantics.relations import EDGES
from tests.properties.dropped_edges import caught, family_of, program, search, seen, table
from tests.properties.mutated import MUTATIONS, WEAK, Mutation

OTHERS = {"machine", "recheck"}
"""Who shares nothing with what is spoiled."""

SEEDS: dict[str, int] = {
    "program: dropped": 0,
    "program: the last instruction before the end dropped": 1,
    "issue: dropped": 0,
    "signalled: dropped": 0,
    "signalled: one signal is enough for every AWAIT": 3,
    "signalled: an AWAIT without SIGNAL ends": 309,
    "collective: dropped": 1,
    "collective: the entries dropped": 1,
    "collective: the last entry dropped": 1,
    "collective: the end of an entry without handle dropped": 1,
    "collective: the end of a WAIT dropped": 5,
    "collective: one that somebody never enters is left": 844,
    "collective_order: dropped": 1,
    "collective_order: kind=all dropped": 1,
    "collective_order: kind=from dropped": 3,
    "collective_order: kind=to dropped": 2,
    "collective_order: every kind taken as all": 0,
    "transferred: dropped": 1,
    "transferred: SEND posted before drained dropped": 5,
    "transferred: RECV posted before arrived dropped": 5,
    "transferred: drained before arrived dropped": 5,
    "transferred: a RECV without partner completes": 35,
    "transferred: a SEND without partner completes": 115,
    "met: dropped": 8,
    "waited: dropped": 5,
    "waited: WAIT for a send dropped": 13,
    "waited: WAIT for a receive dropped": 5,
    "waited: WAIT for a bracket dropped": 5,
    "waited: WAIT for all but the last dropped": 7,
    "waited: blocking send dropped": 7,
    "waited: blocking receive dropped": 7,
    "waited: blocking bracket dropped": 7,
    "waited: at-use, reader dropped": 5,
    "waited: at-use, STEP or SKIP dropped": 110,
    "waited: at-use, send at the end dropped": 49,
    "waited: at-use, receive at the end dropped": 68,
    "queued: of rendezvous dropped": 9,
    "queued: of buffered dropped": 63,
    "queued: queue edge, SEND behind SEND dropped": 9,
    "queued: queue edge, RECV behind RECV dropped": 9,
    "queued: queue direction, SEND behind SEND dropped": 844,
    "queued: queue direction, RECV behind RECV dropped": 357,
    "queued: queue direction, SEND behind RECV dropped": 298,
    "queued: queue direction, RECV behind SEND dropped": 116,
    "queued: queue pair, SEND behind SEND dropped": 43,
    "queued: queue pair, RECV behind RECV dropped": 194,
    "queued: queue pair, SEND behind RECV dropped": 63,
    "queued: queue pair, RECV behind SEND dropped": 163,
    "queued: queue rank, SEND behind SEND dropped": 31,
    "queued: queue rank, RECV behind RECV dropped": 66,
    "queued: queue rank, SEND behind RECV dropped": 60,
    "queued: queue rank, RECV behind SEND dropped": 31,
    "queued: queue direction taken as edge": 116,
    "queued: queue pair taken as edge": 63,
    "queued: queue rank taken as pair": 31,
    "queued: queue rank kept for each communicator": 60,
    "queued: members of a group ordered (too strict)": 51,
    "credited: thresholds dropped": 12,
    "credited: thresholds taken as edges": 105,
    "credited: edges of one credit dropped": 42,
    "credited: edges of more credits dropped": 1273,
    "credited: one credit more": 12,
    "credited: one credit less (too strict)": 12,
    "grouped: dropped": 0,
    "grouped: SEND posted before the set moves dropped": 23,
    "grouped: RECV posted before the set moves dropped": 1,
    "grouped: messages move before their set does": 0,
    "grouped: a set with an end without partner moves": -1,
    "grouped: brackets are not linked by messages": 1,
    "grouped: queues dropped": 6,
    "entered: dropped": 1,
    "entered: a first call that is never answered returns": 33,
    "entered: over all communicators": 1,
    "entered: a bracket enters by its first member only": 5,
    "weak: messages move while nobody is in a call": 0,
    "guarded: dropped": 6,
    "guarded: readers of the slot dropped": 6,
    "guarded: writers of the slot dropped": 31,
    "readiness: dropped": -1,
    "readiness: a reader does not wait for its message": -3,
    "readiness: a receive does not wait for its message to be posted": -1,
    "readiness: what cannot be picked runs": -2,
    "struck: dropped": 11,
    "struck: a rank that is missing or has stopped goes on": 11,
    "struck: a message that is dropped arrives": 15,
}
"""A program of the family of its edge in which each mutation is seen."""


def test_every_relation_of_an_order_is_spoiled() -> None:
    assert {mutation.edge for mutation in MUTATIONS} == {*EDGES, WEAK}
    assert {mutation.name for mutation in MUTATIONS} == {*SEEDS}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_what_is_dropped_or_weakened_is_seen(mutation: Mutation) -> None:
    made = program(family_of(mutation), SEEDS[mutation.name])

    assert made is not None
    assert not seen(made)
    assert OTHERS.intersection(caught(mutation, made))


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_what_is_dropped_or_weakened_is_seen_in_a_search(mutation: Mutation) -> None:
    row = search(mutation, 60)
    sys.stdout.write(table(row))

    assert row.first
