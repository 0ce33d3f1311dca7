"""Recomputations against their forwards, and registers that microbatches hand on."""

import pytest

from pipeproof.api import judge_text
from pipeproof.semantics.relations.recomputation import recomputed_otherwise
from tests.semantics.made import frame, places, text

LEGAL = [
    "0F0; 0R0; 0B0",
    "0F0 rng=a; 0R0 rng=a; 0B0",
    "0F0 rng=a; 0B0",
    "0F0 ctx=autocast; 0R0 ctx=autocast; 0B0",
    "0F0 rng=a ctx=autocast; 0R0 ctx=autocast rng=a; 0B0",
    "0F0 state=s; 0R0; 0B0",
    "0F0 state=s; 0B0",
]
ILLEGAL = [
    ("0F0 rng=a; 0R0 rng=b; 0B0", "0R0 rng=b has rng=b, 0F0 rng=a had rng=a"),
    ("0F0 rng=a; 0R0; 0B0", "0R0 has no rng, 0F0 rng=a had rng=a"),
    ("0F0; 0R0 rng=a; 0B0", "0R0 rng=a has rng=a, 0F0 had no rng"),
    ("0F0 ctx=x; 0R0 ctx=y; 0B0", "0R0 ctx=y has ctx=y, 0F0 ctx=x had ctx=x"),
    ("0F0 rng=a ctx=x; 0R0 rng=a; 0B0", "0R0 rng=a has no ctx, 0F0 rng=a ctx=x had ctx=x"),
    ("0F0 state=s; 0R0 state=s; 0B0", "0R0 state=s updates s again"),
    ("0F0; 0R0 state=s; 0B0", "0R0 state=s updates s again"),
]


@pytest.mark.parametrize("program", LEGAL)
def test_a_recomputation_that_repeats_its_forward_is_proved(program: str) -> None:
    assert judge_text(text(program), "made").verdict == "proved"


@pytest.mark.parametrize(("program", "message"), ILLEGAL)
def test_a_recomputation_that_does_otherwise_is_refuted_there(program: str, message: str) -> None:
    first = judge_text(text(program), "made").first

    assert first is not None
    assert (first.rule, first.message) == ("PP801", message)
    assert [(place.rank, place.position) for place in first.at] == [(0, 1)]


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0F0 rng=a; 0F1 rng=b; 0R0 rng=a; 0B0; 0R1 rng=b; 0B1", list[str]()),
        ("0F0 rng=a; 0F1 rng=b; 0R0 rng=b; 0B0; 0R1 rng=a; 0B1", ["r0.2", "r0.4"]),
        ("0F0 rng=a; 1F0 rng=b; 1R0 rng=a; 0R0 rng=a", ["r0.2"]),
        ("0R0 rng=a", list[str]()),
        ("0R0 rng=b; 0F0 rng=a", ["r0.0"]),
        ("0F0 rng=a; 0F0 rng=b; 0R0 rng=b", list[str]()),
        ("0F0 rng=a; 0F0 rng=b; 0R0 rng=a", ["r0.2"]),
        ("0F0 rng=a bucket=x; 0F0 rng=a bucket=y; 0R0 rng=a", list[str]()),
        ("0F0 rng=a bucket=x; 0F0 rng=b bucket=y; 0R0 rng=b", ["r0.2"]),
        ("0F0 rng=a bucket=x; 0F0 bucket=y; 0R0 rng=a", list[str]()),
        ("0F0 rng=a; 0R0 rng=b; 0R0 rng=a", ["r0.1"]),
    ],
)
def test_a_recomputation_is_held_to_the_forward_before_it(program: str, found: list[str]) -> None:
    made = frame(program, microbatches=2, stages=2, fragment=True)

    assert places(made, recomputed_otherwise(made)) == found


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0F0 state=s; 0F1 state=s; 0F2 state=s", list[str]()),
        ("0F1 state=s; 0F0 state=s; 0F2 state=s", ["r0.1"]),
        ("0F2 state=s; 0F0 state=s; 0F1 state=s", ["r0.1", "r0.2"]),
        ("0F0 state=s; 0F2 state=s; 0F1", list[str]()),
        ("0F1 state=s; 0F0 state=t", list[str]()),
        ("0F1 state=s; 1F0 state=s", list[str]()),
        ("0F1 state=s bucket=x; 0F1 state=s bucket=y", list[str]()),
        ("0F1 state=s; 0B1; 0F0 state=s", ["r0.2"]),
    ],
)
def test_a_register_goes_up_through_the_microbatches(program: str, found: list[str]) -> None:
    made = frame(program, microbatches=3, stages=2, fragment=True)

    assert places(made, recomputed_otherwise(made)) == found


def test_a_register_out_of_turn_names_who_had_it() -> None:
    made = frame("0F2 state=s; 0F0 state=s", microbatches=3, fragment=True)

    assert recomputed_otherwise(made).found[0].facts == {
        "op": "0F0 state=s",
        "why": "takes s after microbatch 2 had it",
    }


def test_the_second_copy_of_a_step_goes_on_with_the_register() -> None:
    made = frame("0F0 state=s; 0F1 state=s; 0B0; 0B1", microbatches=2, steps="any", copies=2)

    assert places(made, recomputed_otherwise(made)) == []


def test_recomputations_and_registers_are_counted() -> None:
    made = frame("0F0 rng=a; 0R0 rng=a; 0F1 state=s; 0R1; 0R0", microbatches=2)

    assert recomputed_otherwise(made).instances == 3
    assert recomputed_otherwise(frame("0F0; 0R0")).instances == 0
    assert recomputed_otherwise(frame("0F0 bucket=x; 0R0")).instances == 0
