"""How a rank runs its program, alone and with others."""

import pytest

from pipeproof.semantics.relations.running import (
    collective,
    collective_order,
    issue,
    meetings,
    program,
    signalled,
)
from tests.semantics.made import events, frame, pairs


def test_an_instruction_starts_after_the_one_before_it_and_a_program_ends_after_all() -> None:
    made = frame("0F0; 0B0", "", "1F0")

    assert pairs(made, program(made)) == {
        *("done r0.0 -> start r0.1", "done r0.1 -> end r0"),
        "done r2.0 -> end r2",
    }


def test_an_instruction_ends_after_it_started() -> None:
    made = frame("0F0", "[SEND v to=0 | SEND u to=0]")

    assert pairs(made, issue(made)) == {"start r0.0 -> done r0.0", "start r1.0 -> done r1.0"}


def test_an_await_ends_after_its_signal_started() -> None:
    made = frame("SIGNAL to=1; SIGNAL to=1", "AWAIT from=0; AWAIT from=0")

    assert pairs(made, signalled(made)) == {"start r0.0 -> done r1.0", "start r0.1 -> done r1.1"}


def test_an_await_without_a_signal_never_ends() -> None:
    made = frame("AWAIT from=1", "SIGNAL to=0; AWAIT from=0")

    assert events(made, signalled(made).never) == ["done r1.1"]


def test_nobody_leaves_a_collective_before_all_have_entered() -> None:
    made = frame("COLL a ranks=0,1", "COLL a ranks=1,0")
    edges = collective(made)

    assert pairs(made, edges) == {
        *("start r0.0 -> gate 0", "start r1.0 -> gate 0"),
        *("gate 0 -> done r0.0", "gate 0 -> done r1.0"),
    }
    assert (edges.gates, edges.never.tolist()) == (1, [])


def test_a_collective_under_a_handle_is_left_at_its_wait_or_by_nobody() -> None:
    made = frame("COLL a ranks=0,1 h=x; 0F0; WAIT x", "COLL a ranks=0,1 h=x")

    assert pairs(made, collective(made)) == {
        *("start r0.0 -> gate 0", "start r1.0 -> gate 0", "gate 0 -> done r0.2"),
    }


def test_a_collective_that_a_rank_never_enters_never_ends() -> None:
    made = frame("COLL a ranks=0,1", "")

    assert events(made, collective(made).never) == ["gate 0"]


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [
        (
            "",
            {
                "start r0.0 -> gate 0",
                "start r1.0 -> gate 0",
                "gate 0 -> done r0.0",
                "gate 0 -> done r1.0",
            },
        ),
        (" from=0", {"start r0.0 -> gate 0", "gate 0 -> done r0.0", "gate 0 -> done r1.0"}),
        (" to=0", {"start r0.0 -> gate 0", "start r1.0 -> gate 0", "gate 0 -> done r0.0"}),
    ],
)
def test_a_collective_orders_what_its_kind_says(kind: str, ordered: set[str]) -> None:
    made = frame(f"COLL a ranks=0,1{kind}", f"COLL a ranks=0,1{kind}")

    assert pairs(made, collective_order(made)) == ordered
    assert len(pairs(made, collective(made))) == 4  # deadlock is judged as if all waited for all


def test_entries_that_differ_in_kind_are_taken_as_one_of_all() -> None:
    made = frame("COLL a ranks=0,1 from=0", "COLL a ranks=0,1 to=0")

    assert [meeting.kind for meeting in meetings(made)] == ["all"]


def test_the_first_entry_of_each_rank_meets_the_first_of_the_others() -> None:
    made = frame("COLL a ranks=0,1; COLL a ranks=0,1", "COLL a ranks=1,0; COLL a ranks=0,1")

    assert [meeting.entries for meeting in meetings(made)] == [(0, 2), (1, 3)]
    assert all(meeting.complete for meeting in meetings(made))


def test_name_communicator_and_ranks_tell_collectives_apart() -> None:
    made = frame("COLL a ranks=0,1; COLL a ranks=0,1 comm=c; COLL b ranks=0,1; COLL a ranks=0,1,2")

    assert [meeting.entries for meeting in meetings(made)] == [(0,), (1,), (2,), (3,)]
    assert [meeting.ranks for meeting in meetings(made)] == [(0, 1), (0, 1), (0, 1), (0, 1, 2)]


def test_ties_meet_by_parameter_and_ranks() -> None:
    made = frame("0TIE ranks=0,1 param=e; 0TIE ranks=0,1", "1TIE ranks=0,1; 1TIE ranks=0,1 param=e")

    assert [meeting.entries for meeting in meetings(made)] == [(0, 3), (1, 2)]


def test_ties_of_different_copies_do_not_meet() -> None:
    keys: dict[str, object] = {"placement": [0, 0, 1, 1], "gradients": {"tied": [[0, 2], [1, 3]]}}
    made = frame("0TIE ranks=0,1; 1TIE ranks=0,1", "3TIE ranks=0,1; 2TIE ranks=0,1", **keys)

    assert [meeting.entries for meeting in meetings(made)] == [(0, 3), (1, 2)]


def test_ties_that_nothing_says_to_be_copies_meet_by_their_ranks() -> None:
    made = frame("0TIE ranks=0,1", "1TIE ranks=0,1", stages=2)

    assert [meeting.entries for meeting in meetings(made)] == [(0, 1)]
