from __future__ import annotations

import pytest

from pipeproof.execution.ranks.fair import is_buffered, unfair
from pipeproof.ir.transport import NAMED, Match, Queue, Transport
from tests.semantics import made

FAIR = {"rendezvous", "rendezvous-edge", "buffered", "gloo", "nccl-edge"}
RUN = made.run(*made.PASSED_ON, fragment=True)


def test_real_ranks_are_a_witness_of_these_named_transports() -> None:
    assert {name for name, each in NAMED.items() if unfair(RUN, each) is None} == FAIR


def test_every_reason_names_what_gloo_does() -> None:
    reasons = {why for each in NAMED.values() if (why := unfair(RUN, each)) is not None}

    assert reasons
    assert all(why.startswith("gloo ") for why in reasons)


@pytest.mark.parametrize(
    ("transport", "fair"),
    [
        (Transport("custom", match=Match.TAG), True),
        (Transport("custom", match=Match.TAG, queue=Queue.EDGE), False),
        (Transport("custom", weak=frozenset({"a"})), False),
    ],
)
def test_tags_are_kept_and_their_order_is_not(transport: Transport, *, fair: bool) -> None:
    assert (unfair(RUN, transport) is None) == fair


def test_sums_over_tied_copies_are_not_run_there() -> None:
    tied = made.run(
        "0F0; 0B0; 0TIE ranks=0,1; 0STEP",
        "1F0; 1B0; 1TIE ranks=0,1; 1STEP",
        gradients={"tied": [[0, 1]]},
        fragment=True,
    )

    assert unfair(tied, NAMED["rendezvous"]) == "sums over tied copies are not run on real ranks"


def test_writers_that_wait_for_a_slot_are_not_run_there() -> None:
    guarded = made.run(
        *made.PASSED_ON, fragment=True, storage={"receive": {"slots": 1, "guard": "wait"}}
    )

    assert unfair(guarded, NAMED["buffered"]) == (
        "writers that wait for their slot are not run on real ranks"
    )


def test_more_ranks_than_a_machine_holds_are_not_run_there() -> None:
    many = made.run(*(f"{rank}F0" for rank in range(33)), fragment=True)

    assert unfair(many, NAMED["buffered"]) == "more than 32 ranks are not run as processes"


def test_a_message_of_a_rank_to_itself_is_not_run_there() -> None:
    own = made.run("SEND v to=0 h=a; RECV v from=0; WAIT a", fragment=True)

    assert unfair(own, NAMED["buffered"]) == "gloo has no messages of a rank to itself"


def test_a_send_completes_alone_where_the_transport_buffers() -> None:
    assert [is_buffered(NAMED[name]) for name in ("buffered", "gloo", "rendezvous")] == [
        True,
        True,
        False,
    ]
