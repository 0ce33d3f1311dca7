"""How messages move, by hand."""

from dataclasses import replace

import pytest

from pipeproof.ir.transport import NAMED, Completion, Groups, Match, Queue, Transport
from pipeproof.semantics.relations.moving import (
    credited,
    entered,
    grouped,
    met,
    moving_sets,
    queued,
    transferred,
    waited,
)
from tests.semantics.made import BUFFERED, RENDEZVOUS, events, frame, pairs

TWO = ("SEND v to=1; SEND u to=1", "RECV v from=0; RECV u from=0")
THREE = (f"{TWO[0]}; SEND t to=1", f"{TWO[1]}; RECV t from=0")
BRACKETS = ("[SEND v to=1 | SEND u to=1]; SEND t to=1", f"{TWO[1]}; RECV t from=0")


def test_a_message_is_posted_then_drained_then_arrived() -> None:
    made = frame("SEND v to=1", "RECV v from=0", under=BUFFERED)

    assert pairs(made, transferred(made)) == {
        *("start r0.0 -> drained v", "drained v -> arrived v", "start r1.0 -> arrived v"),
    }


def test_in_rendezvous_a_message_leaves_once_its_receive_is_posted() -> None:
    made = frame("SEND v to=1", "RECV v from=0")

    assert pairs(made, met(made)) == {"start r1.0 -> drained v"}


@pytest.mark.parametrize(
    ("under", "never"),
    [
        (RENDEZVOUS, {"drained v", "arrived v", "drained u", "arrived u"}),
        (
            replace(BUFFERED, groups=Groups.ATOMIC),
            {"drained v", "arrived v", "drained u", "arrived u"},
        ),
        (BUFFERED, {"arrived v", "drained u", "arrived u"}),
    ],
)
def test_what_lacks_a_partner_moves_only_where_sends_complete_alone(
    under: Transport, never: set[str]
) -> None:
    made = frame("SEND v to=1", "RECV u from=2", "", under=under)

    assert set(events(made, transferred(made).never)) == never


def test_whoever_waits_goes_on_after_the_message_is_complete_for_its_rank() -> None:
    made = frame("SEND v to=1 h=x; WAIT x", "RECV v from=0; COLL a ranks=1")

    assert pairs(made, waited(made)) == {"drained v -> done r0.1", "arrived v -> done r1.0"}


@pytest.mark.parametrize("queue", [Queue.EDGE, Queue.PAIR, Queue.RANK, Queue.DIRECTION])
def test_messages_of_one_queue_complete_in_posting_order(queue: Queue) -> None:
    made = frame(*TWO, under=replace(RENDEZVOUS, queue=queue))

    assert pairs(made, queued(made)) == {"arrived v -> drained u"}


def test_without_a_queue_nothing_is_ordered() -> None:
    made = frame(*TWO)

    assert pairs(made, queued(made)) == set()


def test_buffered_each_end_is_ordered_on_its_own() -> None:
    made = frame(*TWO, under=replace(BUFFERED, queue=Queue.EDGE))

    assert pairs(made, queued(made)) == {"drained v -> drained u", "arrived v -> arrived u"}


@pytest.mark.parametrize(
    ("queue", "ordered"),
    [
        (Queue.EDGE, set[str]()),
        (Queue.DIRECTION, {"arrived F0.0 -> drained v"}),
        (Queue.PAIR, {"arrived F0.0 -> drained B1.0"}),  # kept per communicator
        (
            Queue.RANK,
            {
                *("arrived F0.0 -> drained B1.0", "arrived B1.0 -> drained v"),
                *("arrived v -> drained w", "arrived B1.0 -> drained w"),
            },
        ),
    ],
)
def test_a_queue_is_kept_for_what_its_name_says(queue: Queue, ordered: set[str]) -> None:
    """Rank 0 sends to 1, receives from 1, sends to 2, then to 1 on another communicator."""
    made = frame(
        "SEND F0.0 to=1; RECV B1.0 from=1; SEND v to=2; SEND w to=1 comm=c",
        "RECV F0.0 from=0; SEND B1.0 to=0; RECV w from=0 comm=c",
        "RECV v from=0",
        under=replace(RENDEZVOUS, queue=queue),
    )

    assert pairs(made, queued(made)) == ordered


def test_members_of_one_bracket_are_not_ordered() -> None:
    made = frame(*BRACKETS, under=replace(BUFFERED, queue=Queue.EDGE))
    found = {pair for pair in pairs(made, queued(made)) if "arrived" not in pair}

    assert found == {"drained v -> drained t", "drained u -> drained t"}


def test_large_brackets_meet_in_a_gate() -> None:
    one, two = (" | ".join(f"SEND {name}{k} to=1" for k in range(3)) for name in "ab")
    made = frame(f"[{one}]; [{two}]", "", under=replace(BUFFERED, queue=Queue.EDGE))
    edges = queued(made)

    assert edges.gates == 1
    assert pairs(made, edges) == {
        *(f"drained a{k} -> gate 0" for k in range(3)),
        *(f"gate 0 -> drained b{k}" for k in range(3)),
    }


def test_the_two_ends_of_one_message_are_not_ordered_against_each_other() -> None:
    made = frame("SEND v to=0; RECV v from=0", under=replace(RENDEZVOUS, queue=Queue.RANK))

    assert pairs(made, queued(made)) == set()


def test_what_stands_around_the_two_ends_of_one_message_is_ordered() -> None:
    made = frame(
        "RECV a from=1; RECV v from=0; SEND v to=0; RECV w from=0; SEND w to=0; SEND b to=1",
        "",
        under=replace(BUFFERED, queue=Queue.RANK),
    )

    assert pairs(made, queued(made)) == {
        *("arrived a -> arrived v", "arrived a -> drained v"),
        *("arrived v -> arrived w", "arrived v -> drained w"),
        *("drained v -> arrived w", "drained v -> drained w"),
        *("drained w -> drained b", "arrived w -> drained b"),
    }


def test_large_brackets_with_the_two_ends_of_one_message_meet_in_pairs() -> None:
    made = frame(
        "[RECV v from=0 | RECV a from=1 | RECV b from=1]; "
        "[SEND v to=0 | SEND c to=1 | SEND d to=1]",
        "",
        under=replace(BUFFERED, queue=Queue.RANK),
    )
    edges = queued(made)

    assert edges.gates == 0
    assert len(edges.pairs) == 8
    assert "arrived v -> drained v" not in pairs(made, edges)


def test_one_credit_is_an_edge() -> None:
    made = frame(*THREE, under=NAMED["buffered-1"])
    edges = credited(made)

    assert pairs(made, edges) == {"arrived v -> drained u", "arrived u -> drained t"}
    assert edges.credits == ()


def test_more_credits_are_edges_where_receives_complete_in_order() -> None:
    transport = replace(BUFFERED, capacity=2, queue=Queue.EDGE)
    made = frame(*THREE, under=transport)
    edges = credited(made)

    assert pairs(made, edges) == {"arrived v -> drained t"}
    assert edges.credits == ()


@pytest.mark.parametrize(
    "transport",
    [
        replace(BUFFERED, capacity=2),
        replace(BUFFERED, capacity=2, queue=Queue.DIRECTION),
        replace(BUFFERED, capacity=2, queue=Queue.EDGE, match=Match.TAG),
    ],
)
def test_more_credits_are_a_threshold_where_receives_complete_in_any_order(
    transport: Transport,
) -> None:
    made = frame(*THREE, under=transport)
    edges = credited(made)

    assert pairs(made, edges) == set()
    assert [credit.capacity for credit in edges.credits] == [2]


def test_receives_of_a_bracket_complete_in_any_order() -> None:
    receives = "[RECV v from=0 | RECV u from=0]; RECV t from=0"
    made = frame(THREE[0], receives, under=replace(BUFFERED, capacity=2, queue=Queue.EDGE))

    assert len(credited(made).credits) == 1


def test_a_channel_with_no_more_sends_than_credits_asks_for_none() -> None:
    edges = credited(frame(*TWO, under=replace(BUFFERED, capacity=2)))

    assert (edges.pairs.tolist(), edges.credits) == ([], ())


def test_channels_have_credits_of_their_own() -> None:
    made = frame(
        "SEND v to=1; SEND u to=2; SEND w to=1 comm=c; SEND t to=1",
        "RECV v from=0; RECV t from=0; RECV w from=0 comm=c",
        "RECV u from=0",
        under=NAMED["buffered-1"],
    )

    assert pairs(made, credited(made)) == {"arrived v -> drained t"}


def test_brackets_that_messages_link_move_together() -> None:
    made = frame("[SEND v to=1 | SEND u to=1]", *TWO[1:], under="rendezvous-atomic")
    edges = grouped(made)

    assert pairs(made, edges) == {
        *("start r0.0 -> gate 0", "start r1.0 -> gate 0", "start r1.1 -> gate 0"),
        *("gate 0 -> drained v", "gate 0 -> drained u"),
    }
    assert (edges.gates, edges.never.tolist()) == (1, [])


def test_messages_without_brackets_move_on_their_own() -> None:
    made = frame(*TWO, under="rendezvous-atomic")

    assert moving_sets(made).tolist() == [0, 1]
    assert grouped(made).gates == 2


def test_what_moves_with_a_message_without_a_partner_never_moves() -> None:
    made = frame("[SEND v to=1 | SEND u to=1]", "RECV v from=0", under="rendezvous-atomic")

    assert events(made, grouped(made).never) == ["gate 0"]


def test_a_chain_of_links_is_one_set() -> None:
    made = frame(
        "SEND a to=1",
        "[RECV a from=0 | SEND b to=2]",
        "[RECV b from=1 | SEND c to=3]",
        "RECV c from=2",
        under="rendezvous-atomic",
    )

    assert moving_sets(made).tolist() == [0, 0, 0]


def test_queues_hold_back_all_that_moves_together() -> None:
    transport = replace(NAMED["rendezvous-atomic"], queue=Queue.EDGE)
    made = frame(*TWO, under=transport)

    assert "arrived v -> gate 1" in pairs(made, grouped(made))


def test_a_first_call_returns_after_the_first_call_of_the_other_rank_began() -> None:
    made = frame(
        "SEND v to=1 h=x; SEND u to=1",
        "0F0; [RECV v from=0 | RECV u from=0]",
        under="nccl-first",
    )
    edges = entered(made)

    assert pairs(made, edges) == {"start r1.1 -> done r0.0", "start r0.0 -> done r1.1"}
    assert edges.never.tolist() == []


def test_a_first_call_that_the_other_rank_never_makes_never_returns() -> None:
    made = frame("SEND v to=1; SEND u to=1 comm=c", "RECV v from=0", under="nccl-first")
    edges = entered(made)

    assert events(made, edges.never) == ["done r0.1"]


def test_a_message_to_its_own_rank_enters_nothing() -> None:
    made = frame("SEND v to=0; RECV v from=0", under="nccl-first")

    assert (entered(made).pairs.tolist(), entered(made).never.tolist()) == ([], [])


def test_no_message_means_no_edge() -> None:
    made = frame("0F0", under=replace(BUFFERED, capacity=1, queue=Queue.RANK))

    assert made.transport.completion is Completion.BUFFERED
    assert [len(f(made).pairs) for f in (transferred, met, queued, credited, entered)] == [0] * 5
