"""Reductions and updates against the contributions they must come after."""

import pytest

from pipeproof.semantics.relations.reductions import (
    early_reductions,
    early_updates,
    unreduced,
)
from tests.semantics.gradient_faults import faults
from tests.semantics.made import frame, places


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0B0; 0B1; 0REDUCE", list[str]()),
        ("0B0; 0REDUCE; 0B1", ["r0.1"]),
        ("0REDUCE; 0W0; 0B1", ["r0.0"]),
        ("0B0; 0B1; 0REDUCE; 0I1", list[str]()),
        ("0B0; 0REDUCE; 1B1", list[str]()),
        ("0B0; 0B1; 0REDUCE; 0STEP", list[str]()),
        ("0B0; 0REDUCE; 0B1; 0STEP", ["r0.1"]),
    ],
)
def test_a_reduction_comes_after_the_last_contribution_of_its_step(
    program: str, found: list[str]
) -> None:
    made = frame(program, microbatches=2, stages=2)

    assert places(made, early_reductions(made)) == found


def test_an_early_reduction_names_what_comes_too_late() -> None:
    made = frame("0REDUCE; 0B0; 0B1", microbatches=2)

    assert early_reductions(made).found[0].facts == {
        "op": "0REDUCE",
        "why": "comes before 0B1, which adds to the same gradient",
    }


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0B0; 0REDUCE; 0STEP; 0B1; 0REDUCE; 0STEP", list[str]()),
        ("0B0; 0REDUCE; 0STEP; 0REDUCE; 0B1; 0STEP", ["r0.3"]),
        ("0B0; 0REDUCE; 0B1; 0REDUCE", list[str]()),
        ("0B0; 0REDUCE; 0REDUCE; 0B1", ["r0.2"]),
    ],
)
def test_each_step_has_a_reduction_of_its_own(program: str, found: list[str]) -> None:
    made = frame(program, steps=2)

    assert places(made, early_reductions(made)) == found


def test_nothing_is_asked_of_reductions_that_are_left_to_others() -> None:
    made = frame("0REDUCE; 0B0; 0STEP", gradients={"reduce": "none"})

    assert early_reductions(made).instances == 0
    assert unreduced(made).instances == 0


def test_a_contribution_on_another_rank_is_not_late() -> None:
    made = frame("0REDUCE; 0STEP; 0F0; 0F0", "0B0")

    assert places(made, early_reductions(made)) == []
    assert places(made, early_updates(made)) == []


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0B0; 0B1; 0STEP", {"microbatches": 2}, []),
        ("0B0; 0STEP; 0B1", {"microbatches": 2}, ["r0.1"]),
        ("0B0; 0STEP; 0B1; 0STEP", {"microbatches": 2}, ["r0.1"]),
        ("0B0; 0STEP; 0B1; 0STEP", {"steps": 2}, []),
        ("0STEP; 0B0; 0B1; 0STEP", {"steps": 2}, ["r0.0"]),
        ("0B1; 0STEP; 0B0; 0STEP", {"steps": 2}, ["r0.1"]),
        ("0B0; 0STEP; 0B1", {"microbatches": 2, "weights": {"updates": "microbatch"}}, []),
        ("0B0; 0STEP; 0B1", {"microbatches": 2, "weights": {"updates": "step"}}, ["r0.1"]),
        ("0STEP; 1B0", {"stages": 2}, []),
    ],
)
def test_weights_are_updated_after_the_last_contribution_of_the_step(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    made = frame(program, **keys)

    assert places(made, early_updates(made)) == found


def test_an_early_update_names_what_comes_too_late() -> None:
    made = frame("0STEP; 0B0; 0W0")

    assert early_updates(made).found[0].facts == {"op": "0STEP", "late": "0W0"}


REQUIRED: dict[str, object] = {"gradients": {"reduce": "required"}}


@pytest.mark.parametrize(
    ("programs", "keys", "found"),
    [
        (("0B0; 0STEP", "1B0; 1STEP"), {}, []),
        (("0B0; 0REDUCE; 0STEP", "1B0; 1STEP"), {}, ["r1.1"]),
        (("0B0; 0REDUCE", "1B0"), {}, ["r1.1"]),
        (("0B0; 0REDUCE", "1B0"), {"fragment": True}, []),
        (("0B0; 0REDUCE", "1B0"), {"gradients": {"reduce": "once"}}, []),
        (("0B0; 0STEP", "1B0"), REQUIRED, ["r0.1", "r1.1"]),
        (("0B0; 0STEP", ""), {**REQUIRED, "fragment": True, "stages": 1}, ["r0.1"]),
        (("0F0; 0STEP", ""), REQUIRED, []),
        (("0B0; 0REDUCE; 0STEP", "1B0; 1SKIP"), {}, []),
        (("0B0; 0STEP; 0REDUCE", ""), {"stages": 1}, ["r0.1"]),
    ],
)
def test_a_gradient_that_is_to_be_reduced_is_reduced_before_it_is_used(
    programs: tuple[str, ...], keys: dict[str, object], found: list[str]
) -> None:
    made = frame(*programs, **keys)

    assert places(made, unreduced(made)) == found


def test_every_step_is_asked_for_its_reduction() -> None:
    made = frame("0B0; 0REDUCE; 0STEP; 0B1; 0STEP", steps=2)

    assert (unreduced(made).instances, places(made, unreduced(made))) == (2, ["r0.4"])


def test_a_missing_reduction_names_the_use_and_the_stage() -> None:
    made = frame("0B0", "1B0; 1STEP", **REQUIRED)

    assert [each.facts for each in unreduced(made).found] == [
        {"op": "1STEP", "stage": "1", "what": ""},
        {"op": "the end of the program", "stage": "0", "what": ""},
    ]


ONE: dict[str, object] = {"stages": 1}
M2: dict[str, object] = {"microbatches": 2}
T2: dict[str, object] = {"steps": 2}
EACH: dict[str, object] = {"microbatches": 2, "weights": {"updates": "microbatch"}}
MARKED = [
    (("0B0 last=yes; 0STEP",), ONE, []),
    (("0B0 last=no; 0STEP",), ONE, ["PP704 r0.0"]),
    (("0B0; 0B1 last=yes; 0STEP",), {**ONE, **M2}, []),
    (("0B0 last=yes; 0B1; 0STEP",), {**ONE, **M2}, ["PP704 r0.0", "PP704 r0.1"]),
    (("0B0 last=yes; 0B1 last=yes; 0STEP",), {**ONE, **M2}, ["PP704 r0.0"]),
    (("0B0 last=no; 0B1 last=no; 0STEP",), {**ONE, **M2}, ["PP704 r0.1"]),
    (("0B0 last=yes; 0STEP; 0B1 last=no; 0STEP",), {**ONE, **T2}, ["PP704 r0.2"]),
    (("0B0 last=yes; 0B1 last=yes",), {**ONE, **T2}, []),
    (("0B0; 1B0 last=yes",), {"stages": 2}, []),
    (("0B0; 0STEP",), ONE, []),
]
PARTS = [
    (("0W0 param=a; 0REDUCE param=a; 0W0 param=b; 0REDUCE param=b; 0STEP",), ONE, []),
    (("0W0 param=a; 0W0 param=b; 0REDUCE param=a; 0STEP",), ONE, ["PP705 r0.3"]),
    (("0B0; 0REDUCE param=a; 0REDUCE param=b; 0STEP",), ONE, []),
    (("0W0 param=a; 0REDUCE param=a; 0W1 param=a; 0STEP",), {**ONE, **M2}, ["PP704 r0.1"]),
    (("0W0 param=a; 0REDUCE; 0W0 param=b; 0STEP",), ONE, ["PP704 r0.1"]),
    (("0B0; 0REDUCE; 0STEP; 0ROLLBACK; 0STEP",), ONE, []),
    (("0B0; 0STEP; 0ROLLBACK; 0REDUCE; 0STEP",), ONE, []),
    (("0B0; 0REDUCE; 0STEP; 0B1; 0STEP",), {**ONE, **EACH}, ["PP705 r0.4"]),
    (("0B0; 0REDUCE; 0STEP; 0B1",), {**ONE, **T2}, ["PP705 r0.4"]),
]


@pytest.mark.parametrize(("programs", "keys", "found"), MARKED)
def test_the_last_contribution_of_a_step_and_no_other_is_marked(
    programs: tuple[str, ...], keys: dict[str, object], found: list[str]
) -> None:
    assert faults(frame(*programs, **keys)) == found


@pytest.mark.parametrize(("programs", "keys", "found"), PARTS)
def test_parts_are_reduced_and_stepped_each_for_itself(
    programs: tuple[str, ...], keys: dict[str, object], found: list[str]
) -> None:
    assert faults(frame(*programs, **keys)) == found
