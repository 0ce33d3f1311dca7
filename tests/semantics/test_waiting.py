"""Who waits for whom where nothing more can happen."""

from dataclasses import replace

import pytest

from pipeproof.engines._sweep import run
from pipeproof.ir.transport import Groups, Queue, Transport, Wait
from pipeproof.semantics.waiting import cycles
from tests.semantics.made import BUFFERED, CROSSED, PASSED_ON, RENDEZVOUS, model, places

WEAK = replace(RENDEZVOUS, weak=frozenset({"c"}))


def stuck(*programs: str, under: str | Transport = RENDEZVOUS) -> list[str]:
    """The places of each cycle, and `c` behind those of collectives alone."""
    made = model(*programs, under=under)
    found = cycles(made, run(made, made.progress).happened)
    return [places(made.frame, each.finding)[0] + " c" * each.collective for each in found]


def why(*programs: str, under: str | Transport = RENDEZVOUS) -> list[str]:
    made = model(*programs, under=under)
    (found,) = cycles(made, run(made, made.progress).happened)
    return found.finding.facts["why"].split("; ")


def test_where_everything_happens_nobody_waits() -> None:
    assert stuck(*PASSED_ON) == []


def test_sends_that_face_each_other_are_a_cycle() -> None:
    assert stuck(*CROSSED) == ["r0.0 r1.0"]
    assert why(*CROSSED) == [
        "SEND F0.0 to=1 of rank 0 waits for rank 1 at SEND B1.0 to=0",
        "SEND B1.0 to=0 of rank 1 waits for rank 0 at SEND F0.0 to=1",
    ]


def test_the_links_of_a_cycle_lead_around_it() -> None:
    made = model(*CROSSED, under=RENDEZVOUS)
    (found,) = cycles(made, run(made, made.progress).happened)
    around = [(each.waits, each.other) for each in found.links]

    assert [(a.rank, a.posted, b.rank) for a, b in around if a.posted] == [
        (0, True, 1),
        (1, True, 0),
    ]
    assert [b for _, b in around] == [*[a for a, _ in around[1:]], around[0][0]]
    assert {each.slot for each in found.links} == {""}


def test_collectives_entered_in_opposite_orders_are_a_cycle_of_collectives() -> None:
    programs = ("COLL a ranks=0,1; COLL b ranks=0,1", "COLL b ranks=0,1; COLL a ranks=0,1")

    assert stuck(*programs) == ["r0.0 r1.0 c"]
    assert why(*programs)[0] == "COLL a ranks=0,1 of rank 0 waits for rank 1 at COLL b ranks=0,1"


def test_a_message_on_the_cycle_makes_it_no_cycle_of_collectives() -> None:
    programs = ("COLL a ranks=0,1; SEND v to=1", "RECV v from=0; COLL a ranks=0,1")

    assert stuck(*programs) == ["r0.0 r1.0"]


def test_signals_that_face_each_other_are_a_cycle() -> None:
    assert stuck("AWAIT from=1; SIGNAL to=1", "AWAIT from=0; SIGNAL to=0") == ["r0.0 r1.0"]


@pytest.mark.parametrize(
    "programs",
    [
        ("SEND v to=1", ""),
        ("COLL a ranks=0,1", ""),
        ("AWAIT from=1", ""),
        ("RECV v from=1; SEND u to=1", "RECV u from=0 comm=c"),
    ],
)
def test_who_waits_for_what_never_comes_waits_in_no_circle(programs: tuple[str, ...]) -> None:
    assert stuck(*programs) == []


def test_each_set_of_ranks_that_wait_for_each_other_is_one_cycle() -> None:
    programs = (
        *("SEND v to=1; RECV u from=1", "SEND u to=0; RECV v from=0"),
        *("SEND v to=3; RECV u from=3", "SEND u to=2; RECV v from=2"),
    )

    assert stuck(*programs) == ["r0.0 r1.0", "r2.0 r3.0"]


def test_a_rank_that_waits_for_a_cycle_is_not_on_it() -> None:
    assert stuck(*CROSSED, "RECV v from=0") == ["r0.0 r1.0"]


def test_the_shortest_cycle_stands_for_its_component() -> None:
    """Rank 0 waits for ranks 1 and 2 at once; rank 2 waits for rank 1, both for rank 0."""
    programs = (
        "[RECV a from=1 | RECV b from=2]; SEND c to=1; SEND f to=2",
        "RECV c from=0; SEND a to=0; SEND d to=2",
        "RECV d from=1; RECV f from=0; SEND b to=0",
    )

    assert stuck(*programs) == ["r0.0 r1.0"]


def test_a_queue_lets_a_message_wait_for_the_one_before_it() -> None:
    eager = Transport("t", queue=Queue.RANK, wait=Wait.EXPLICIT)
    programs = (
        "SEND v to=1 h=x; SEND u to=1 comm=c h=x; WAIT x",
        "RECV u from=0 comm=c h=x; RECV v from=0 h=x; WAIT x",
    )

    assert stuck(*programs, under=eager) == ["r0.0 r1.0"]
    assert stuck(*programs, under=replace(eager, queue=Queue.PAIR)) == []


def test_a_send_without_credit_waits_for_the_receive_that_would_free_it() -> None:
    programs = (
        "SEND a to=1; SEND b to=1; SEND t to=1 comm=c",
        "RECV t from=0 comm=c; RECV a from=0; RECV b from=0",
    )

    assert stuck(*programs, under="buffered-1") == ["r0.1 r1.0"]
    assert stuck(*programs, under="buffered") == []


def test_a_send_without_credit_waits_for_a_posted_receive_in_a_queue() -> None:
    """Message a is posted at both ends, and stands behind w of rank 1, which needs rank 0."""
    transport = replace(BUFFERED, capacity=1, queue=Queue.RANK)
    programs = (
        "SEND a to=1; SEND b to=1; SEND w to=1 comm=c",
        "RECV w from=0 comm=c h=x; RECV a from=0 h=x; RECV b from=0 h=x; WAIT x",
    )

    assert stuck(*programs, under=transport) == ["r0.1 r1.0 r1.1"]


def test_a_first_call_waits_for_that_of_the_other_rank() -> None:
    programs = (
        "SEND v to=1; SEND u to=2",
        "SEND w to=2; RECV v from=0",
        "RECV u from=0; RECV w from=1",
    )

    assert stuck(*programs, under="nccl-first") == ["r0.0 r1.0 r2.0"]
    assert stuck(*programs, under="nccl-lazy") == []


def test_a_bracket_moves_only_as_a_whole() -> None:
    programs = ("[SEND a to=1 | SEND b to=1]", "RECV a from=0; RECV b from=0")

    assert stuck(*programs, under="rendezvous-atomic") == ["r0.0 r1.0"]
    assert stuck(*programs) == []


def test_brackets_that_only_wait_for_a_missing_message_wait_in_no_circle() -> None:
    programs = ("[SEND a to=1 | RECV b from=1]", "RECV a from=0")

    assert stuck(*programs, under="rendezvous-atomic") == []


def test_brackets_wait_for_a_cycle_of_their_queue() -> None:
    transport = Transport("t", queue=Queue.RANK, groups=Groups.ATOMIC, wait=Wait.EXPLICIT)
    programs = (
        "SEND a to=1 h=x; SEND b to=1 comm=c h=x; WAIT x",
        "RECV b from=0 comm=c h=x; RECV a from=0 h=x; WAIT x",
    )

    assert stuck(*programs, under=transport) == ["r0.0 r1.0"]


def test_a_weak_message_waits_for_a_rank_outside_of_its_communicator() -> None:
    programs = (
        "SEND a to=1 comm=c h=x; AWAIT from=1; WAIT x",
        "RECV a from=0 comm=c; SIGNAL to=0",
    )

    assert stuck(*programs, under=WEAK) == ["r0.1 r1.0"]
    assert stuck(*programs) == []


def test_the_ends_of_a_weak_message_that_a_rank_has_left_behind_wait_for_each_other() -> None:
    programs = ("SEND a to=1 comm=c h=x", "RECV a from=0 comm=c")

    assert stuck(*programs, under=WEAK) == ["r0.0 r1.0"]


def test_a_weak_message_that_nobody_waits_for_is_no_deadlock() -> None:
    assert stuck("SEND a to=1 comm=c h=x", "RECV a from=0 comm=c h=x", under=WEAK) == []


def test_a_rank_at_the_end_of_its_program_waits_for_what_nobody_read() -> None:
    programs = ("RECV v from=1; RECV u from=1 comm=c", "SEND u to=0 comm=c; SEND v to=0")
    found = why(*programs, under=Transport("t", queue=Queue.RANK, wait=Wait.AT_USE))

    assert found == [
        "RECV v from=1 of rank 0 waits for SEND u to=0 comm=c of rank 1",
        "SEND u to=0 comm=c of rank 1 waits for RECV v from=1 of rank 0",
    ]
