"""Ranks that do different things where they must do the same."""

import pytest

from pipeproof.semantics.relations.diverging import diverging
from tests.semantics.made import frame, places


def test_ranks_that_all_step_do_not_diverge() -> None:
    made = frame("0STEP", "1STEP")

    assert (diverging(made).instances, places(made, diverging(made))) == (2, [])


def test_a_step_against_a_skip_diverges() -> None:
    made = frame("0F0; 0STEP", "1SKIP", "2STEP")
    found = diverging(made)

    assert places(made, found) == ["r0.1 r1.0 r2.0"]
    assert found.found[0].facts["why"] == (
        "rank 0, 2 takes the optimizer step, rank 1 leaves it out"
    )


def test_steps_are_compared_turn_by_turn() -> None:
    made = frame("0STEP; 0SKIP", "1STEP; 1STEP")

    assert places(made, diverging(made)) == ["r0.1 r1.1"]


def test_one_microbatch_bound_to_two_samples_diverges() -> None:
    made = frame("LOAD X.0 sample=3", "LOAD Y.0 sample=4; LOAD Y.0")
    found = diverging(made)

    assert (found.instances, places(made, found)) == (2, ["r0.0 r1.0"])
    assert found.found[0].facts["why"] == "microbatch 0 is bound to samples 3, 4"


def test_two_microbatches_may_be_two_samples() -> None:
    made = frame("LOAD X.0 sample=3; LOAD X.1 sample=4", "LOAD Y.0 sample=3", microbatches=2)

    assert places(made, diverging(made)) == []


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (("RESUME at=4", "RESUME at=4"), list[str]()),
        (("RESUME at=4", "RESUME at=8"), ["r0.0 r1.0"]),
        (("RESUME at=4", "RESUME at=4", "RESUME at=3"), ["r0.0 r2.0"]),
        (("RESUME at=4", "RESUME at=5", "RESUME at=6"), ["r0.0 r1.0 r2.0"]),
        (("RESUME at=4; RESUME at=8", "RESUME at=4; RESUME at=9"), ["r0.1 r1.1"]),
        (("RESUME at=4; RESUME at=8", "RESUME at=4"), list[str]()),
        (("", "RESUME at=8", "RESUME at=4"), ["r1.0 r2.0"]),
    ],
)
def test_ranks_go_on_at_one_place(programs: tuple[str, ...], found: list[str]) -> None:
    made = frame(*programs, fragment=True, stages=1)

    assert places(made, diverging(made)) == found


def test_a_rank_that_goes_on_elsewhere_is_named_with_the_lowest() -> None:
    made = frame("RESUME at=4", "RESUME at=4", "RESUME at=3", fragment=True, stages=1)

    assert diverging(made).found[0].facts["why"] == "rank 0 goes on at 4, rank 2 at 3"


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("0STEP; 0COMMIT", "1STEP; 1ROLLBACK; 1STEP", ["r0.1 r1.1"]),
        ("0STEP; 0ROLLBACK; 0STEP", "1STEP; 1ROLLBACK; 1STEP", []),
        ("0STEP; 0ROLLBACK; 0STEP; 0COMMIT", "1STEP; 1ROLLBACK; 1STEP", []),
        ("0STEP; 0ROLLBACK; 0STEP", "1STEP", []),
        ("0STEP; 0STEP; 0COMMIT", "1STEP; 1STEP; 1ROLLBACK; 1STEP", ["r0.2 r1.2"]),
        (
            "0STEP param=a; 0STEP param=b; 0COMMIT",
            "1STEP; 1ROLLBACK; 1STEP",
            ["r0.2 r1.1"],
        ),
    ],
)
def test_a_step_is_committed_everywhere_or_nowhere(
    first: str, second: str, found: list[str]
) -> None:
    made = frame(first, second, microbatches=1)

    assert places(made, diverging(made)) == found


def test_who_commits_and_who_withdraws_is_said() -> None:
    made = frame("0STEP; 0COMMIT", "1STEP; 1ROLLBACK; 1STEP")

    assert diverging(made).found[0].facts["why"] == (
        "rank 0 commits the optimizer step, rank 1 withdraws it"
    )
