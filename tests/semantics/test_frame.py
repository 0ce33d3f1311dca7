"""Events of a schedule, by hand."""

import numpy as np

from pipeproof.ir.transport import Groups, Transport
from pipeproof.semantics.found import Spot
from tests.semantics.made import BUFFERED, PASSED_ON, event, frame


def test_events_are_instructions_then_ends_then_transfers() -> None:
    made = frame(*PASSED_ON)

    assert [event(made, each) for each in range(made.events)] == [
        *("start r0.0", "done r0.0", "start r0.1", "done r0.1"),
        *("start r1.0", "done r1.0", "start r1.1", "done r1.1"),
        *("end r0", "end r1", "drained F0.0", "arrived F0.0"),
    ]
    assert (made.instructions, made.ranks, made.ends, made.first_transfer) == (4, 2, 8, 10)


def test_what_is_behind_the_events_is_a_gate() -> None:
    made = frame(*PASSED_ON)

    assert made.owner(made.events + 3) == ("gate", 3)


def test_rows_of_one_instruction_share_its_events() -> None:
    made = frame("0F0; [SEND F0.0 to=1 | RECV v from=1]", "")
    rows = np.asarray([0, 1, 2])

    assert made.start(rows).tolist() == [0, 2, 2]
    assert made.done(rows).tolist() == [1, 3, 3]


def test_a_send_is_complete_when_drained_and_a_receive_when_arrived() -> None:
    made = frame(*PASSED_ON)

    assert made.completed(np.asarray([1, 2])).tolist() == [10, 11]


def test_events_stand_on_the_chain_of_their_rank() -> None:
    made = frame(*PASSED_ON)

    assert made.chain.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 1, -1, -1]


def test_rows_that_nobody_waits_for_have_no_moment() -> None:
    made = frame(*PASSED_ON)

    assert made.awaited.tolist() == [-1, 3, 5, -1]


def test_sends_cannot_complete_alone_in_rendezvous_or_in_atomic_groups() -> None:
    atomic = Transport("t", BUFFERED.completion, groups=Groups.ATOMIC)

    assert frame(*PASSED_ON).together
    assert not frame(*PASSED_ON, under=BUFFERED).together
    assert frame(*PASSED_ON, under=atomic).together
    assert frame(*PASSED_ON, under=atomic).atomic


def test_a_place_behind_a_program_has_the_number_of_its_instructions() -> None:
    made = frame(*PASSED_ON)

    assert made.place(Spot(2, 1)) == (0, 1)
    assert made.place(Spot(made.ends + 1, -1)) == (1, 2)


def test_operations_are_told_as_they_were_written() -> None:
    made = frame("0F0; [0SEND_F0 | RECV v from=1]", "1RECV_F0; 1F0", copies=2, steps="any")

    assert made.text(4) == "0SEND_F0"  # the second copy of row 1
    assert made.instruction_text(1) == "[0SEND_F0 | RECV v from=1]"
    assert made.instruction_text(3) == "[0SEND_F0 | RECV v from=1]"


def test_reads_are_supplied_once_for_all() -> None:
    made = frame(*PASSED_ON)
    reading, given = made.supplied

    assert made.supplied[0] is reading
    assert reading.rows.tolist() == [0, 1, 3, 3]
    assert given.writer.tolist() == [-1, 0, 2, -1]
    assert not made.fragment
