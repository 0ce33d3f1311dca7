"""What is live at once against its bound, and what is held to the end."""

import pytest

from pipeproof.semantics.relations.bounds import overfull, unfreed
from tests.semantics.judged import broken
from tests.semantics.made import frame, places


@pytest.mark.parametrize(
    ("program", "live", "found"),
    [
        ("0F0; 0B0; 0F1; 0B1", 1, ""),
        ("0F0; 0F1; 0B0; 0B1", 2, ""),
        ("0F0; 0F1; 0B0; 0B1", 1, "PP506 r0.1"),
        ("0F0; 0F1; 0F2; 0B0; 0B1; 0F3", 1, "PP506 r0.1, PP506 r0.2, PP506 r0.5"),
        ("0F0; 0I0; 0F1; 0W0", 1, "PP506 r0.2"),
        ("0F0; 0I0; 0W0; 0F1", 1, ""),
        ("0F0; 0F1", 1, "PP506 r0.1"),
        ("0F0; 1F0; 1B0; 0B0", 1, "PP506 r0.1"),
        ("0F0; 1F0; 1B0; 0B0", 2, ""),
        ("0F0; 0R0; 0B0; 0F1; 0B1", 1, ""),
        ("0F0 bucket=p; 0F0 bucket=q; 0B0", 1, ""),
        ("0F0; 0B0 c=1/2; 0F1; 0B0 c=1/2; 0B1", 1, "PP506 r0.2"),
        ("0F0; (0F1;0B0)OVERLAP_F_B; 0B1", 1, "PP506 r0.1"),
        ("HOLD 2; 0F0; 0B0; DROP 2", 3, ""),
        ("HOLD 2; 0F0; 0B0; DROP 2", 2, "PP506 r0.1"),
        ("0F0; HOLD 1; DROP 1; 0B0", 1, "PP506 r0.1"),
        ("HOLD 1; DROP 1; HOLD 1; DROP 1", 1, ""),
        ("HOLD 3; DROP 3", 2, "PP506 r0.0"),
        ("HOLD 1; DROP 1; 0F0; 0B0", 1, ""),
        ("0B0; 0F1", 0, "PP506 r0.1"),
    ],
)
def test_no_more_is_live_than_the_bound_allows(program: str, live: int, found: str) -> None:
    assert broken(program, bounds={"live": live}) == [each for each in found.split(", ") if each]


def test_each_rank_is_counted_by_itself() -> None:
    programs = ("0F0; 0B0", "1F0; 1F1; 1B0; 1B1")

    assert broken(*programs, bounds={"live": 1}, stages=2) == ["PP506 r1.1"]


def test_without_a_backward_every_forward_stays() -> None:
    made = frame("0F0; 0F1; 0F2", microbatches=3, bounds={"live": 1})

    assert places(made, overfull(made)) == ["r0.1", "r0.2"]


def test_each_segment_is_live_by_itself() -> None:
    program = "0F0; 0F1; 0B1; 0B0"

    assert broken(program, bounds={"live": 1}, segments=2, microbatches=1) == ["PP506 r0.1"]
    assert broken(program, bounds={"live": 2}, segments=2, microbatches=1) == []


def test_over_any_number_of_steps_two_copies_are_counted() -> None:
    keys = {"steps": "any", "bounds": {"live": 1}, "microbatches": 1}

    assert broken("0F0; 0B0; SEND v to=1 h=h", "RECV v from=0", **keys) == []
    assert broken("0F0; SEND v to=1 h=h", "RECV v from=0", **keys) == ["PP506 ?", "PP506 r0.0"]


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (("HOLD 2; DROP 1",), "PP507 r0.2"),
        (("HOLD 2; DROP 1; DROP 1",), ""),
        (("DROP 1; HOLD 1",), ""),
        (("DROP 2; HOLD 1",), ""),
        (("HOLD 1; DROP 1", "HOLD 1"), "PP507 r1.1"),
        (("HOLD 1; DROP 2", "HOLD 1"), "PP507 r1.1"),
        (("WRITE a v",), ""),
    ],
)
def test_what_is_held_is_dropped_by_the_end(programs: tuple[str, ...], found: str) -> None:
    assert broken(*programs) == [each for each in found.split(", ") if each]


def test_what_is_held_and_left_is_named() -> None:
    made = frame("HOLD 3; DROP 1")

    assert unfreed(made).found[0].facts == {"rank": "0", "left": "2"}
    assert unfreed(made).instances == 1
