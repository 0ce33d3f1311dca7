"""For how many steps one step decides."""

import pytest

from pipeproof.semantics.steps import ends_sharded_as_it_starts, left_open, uneven
from tests.semantics.made import PASSED_ON, events, frame


@pytest.mark.parametrize(
    ("program", "same"),
    [
        ("0F0", True),
        ("0UNSHARD; 0F0; 0RESHARD", True),
        ("0UNSHARD; 0F0", False),
        ("0UNSHARD; 0RESHARD; 0UNSHARD", False),
        ("0UNSHARD; 1UNSHARD; 0RESHARD", False),
        ("0RESHARD", True),
    ],
)
def test_a_step_ends_sharded_as_it_started_or_not(program: str, *, same: bool) -> None:
    assert ends_sharded_as_it_starts(frame(program)) is same


def test_what_is_waited_for_is_not_left_open() -> None:
    moments, ends = left_open(frame(*PASSED_ON))

    assert (moments.tolist(), ends.tolist()) == ([], [])


def test_messages_that_nobody_waits_for_are_left_open_to_the_end_of_their_rank() -> None:
    made = frame("SEND v to=1 h=x", "RECV v from=0 h=x")
    moments, ends = left_open(made)

    assert events(made, moments) == ["drained v", "arrived v"]
    assert events(made, ends) == ["end r0", "end r1"]


@pytest.mark.parametrize("program", ["COLL a ranks=0 h=x", "0REDUCE h=x", "0TIE ranks=0 h=x"])
def test_collectives_and_reductions_left_open_have_no_moment(program: str) -> None:
    made = frame(program)
    moments, ends = left_open(made)

    assert moments.tolist() == [-1]
    assert events(made, ends) == ["end r0"]


def test_a_reduction_without_a_handle_is_not_left_open() -> None:
    assert left_open(frame("0REDUCE"))[0].tolist() == []


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        (("SIGNAL to=1", "AWAIT from=0"), None),
        (("SIGNAL to=1; SIGNAL to=1", "AWAIT from=0"), "SIGNAL and AWAIT from rank 0 to rank 1"),
        (("AWAIT from=1", ""), "SIGNAL and AWAIT from rank 1 to rank 0"),
        (("HOLD 2; DROP 1; DROP 1", ""), None),
        (("HOLD 2", "DROP 2"), "HOLD and DROP of rank 0"),
        (("", "DROP 1"), "HOLD and DROP of rank 1"),
    ],
)
def test_counts_that_differ_say_why_no_number_of_steps_follows(
    programs: tuple[str, ...], why: str | None
) -> None:
    assert uneven(frame(*programs)) == (why and f"{why} differ in number")
