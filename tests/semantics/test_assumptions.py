"""Which relations make up an order under a transport, and what a verdict rests on."""

import pytest

from pipeproof.ir.transport import NAMED, Completion, Groups, Queue, Transport
from pipeproof.semantics.assumptions import ALWAYS, assumed, relations
from pipeproof.semantics.logic import HAPPENS_BEFORE, PROGRESS


def chosen(transport: Transport) -> set[str]:
    return set(relations(transport, PROGRESS)) - {*ALWAYS, "collective"}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("rendezvous", {"met"}),
        ("rendezvous-edge", {"met", "queued"}),
        ("rendezvous-serial", {"met", "queued"}),
        ("rendezvous-rank", {"met", "queued"}),
        ("rendezvous-atomic", {"grouped"}),
        ("buffered", set()),
        ("buffered-1", {"credited"}),
        ("nccl-lazy", {"met", "queued"}),
        ("nccl-eager", {"met", "queued"}),
        ("nccl-direction", {"met", "queued"}),
        ("nccl-edge", {"met", "queued"}),
        ("gloo", {"queued"}),
        ("nccl-first", {"met", "queued", "entered"}),
        ("nccl-small", {"queued"}),
    ],
)
def test_a_named_transport_adds_what_it_assumes(name: str, more: set[str]) -> None:
    assert chosen(NAMED[name]) == more


def test_atomic_groups_keep_their_queues_and_ask_for_no_credit() -> None:
    transport = Transport(
        "t", Completion.BUFFERED, Queue.PAIR, groups=Groups.ATOMIC, capacity=2, lazy=True
    )

    assert chosen(transport) == {"grouped", "entered"}


def test_only_progress_takes_every_collective_as_one_of_all() -> None:
    rendezvous = NAMED["rendezvous"]

    assert set(relations(rendezvous, PROGRESS)) ^ set(relations(rendezvous, HAPPENS_BEFORE)) == {
        *("collective", "collective_order"),
    }


ALONE = ("A1", "A8", "A10", "A11", "A14")


@pytest.mark.parametrize(
    ("name", "said", "ids"),
    [
        ("rendezvous", "", set[str]()),
        ("rendezvous", "messages", {"A2", "A5", "A6", "A9"}),
        ("nccl-lazy", "messages", {"A2", "A3", "A4", "A5", "A6", "A9"}),
        ("nccl-first", "messages", {"A2", "A3", "A4", "A5", "A9"}),
        ("nccl-lazy", "", set[str]()),
        ("buffered", "collectives", {"A3", "A7"}),
    ],
)
def test_a_verdict_names_what_it_rests_on(name: str, said: str, ids: set[str]) -> None:
    messages, collectives = said == "messages", said == "collectives"
    found = assumed(NAMED[name], messages=messages, collectives=collectives)

    assert set(found) == {*ALONE, *ids}
    assert list(found) == sorted(found, key=lambda each: int(each[1:]))
