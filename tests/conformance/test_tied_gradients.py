"""Copies of one parameter, pipelines and norms: verdicts written down before they were run."""

import pytest

from tests.semantics.gradient_faults import faults, said, tie
from tests.semantics.made import frame

PAIR = tie(2, [[0, 1]])
BOTH = "ranks=0,1"
TIED = [
    ((f"0B0; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1STEP"), PAIR, []),
    (("0B0; 0STEP", "1B0; 1STEP"), PAIR, ["PP707 r0.1", "PP707 r1.1"]),
    (("0B0", "1B0"), PAIR, ["PP707 r0.1", "PP707 r1.1"]),
    ((f"0B0; 0TIE {BOTH}; 0STEP", f"1TIE {BOTH}; 1B0; 1STEP"), PAIR, ["PP707 r1.2"]),
    ((f"0TIE {BOTH}; 0B0; 0STEP", f"1TIE {BOTH}; 1B0; 1STEP"), PAIR, ["PP707 r0.2", "PP707 r1.2"]),
    ((f"0B0; 0TIE {BOTH}; 0STEP", "1B0; 1STEP"), PAIR, ["PP707 r1.1"]),
    (("0B0; 0TIE ranks=0; 0STEP", "1B0; 1TIE ranks=1; 1STEP"), PAIR, ["PP707 r0.2", "PP707 r1.2"]),
    ((f"0B0; 0TIE {BOTH}; 0SKIP", "1B0; 1SKIP"), PAIR, []),
    (
        (f"0B0; 0TIE {BOTH}; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1TIE {BOTH}; 1STEP"),
        PAIR,
        ["PP702 r0.3", "PP702 r1.3"],
    ),
    (
        (f"0B0; 0TIE {BOTH}; 0SCALE by=1/2; 0STEP", f"1B0; 1TIE {BOTH}; 1SCALE by=1/2; 1STEP"),
        PAIR,
        ["PP703 r0.3", "PP703 r1.3"],
    ),
    (
        (f"0B0; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1SCALE by=1/2; 1STEP"),
        PAIR,
        ["PP703 r1.3"],
    ),
    (
        (f"0B0; 0SCALE by=1/2; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1STEP"),
        PAIR,
        ["PP703 r0.3"],
    ),
    (
        (f"0B0; 0ZERO; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1STEP"),
        PAIR,
        ["PP701 r0.3"],
    ),
    (
        (f"0B0; 0TIE {BOTH}; 0ZERO; 0STEP", f"1B0; 1TIE {BOTH}; 1STEP"),
        PAIR,
        ["PP701 r0.3"],
    ),
    (
        (f"0STALE; 0B0; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1STEP"),
        PAIR,
        ["PP708 r0.3", "PP708 r1.2"],
    ),
    (
        (f"0B0; 0REDUCE; 0TIE {BOTH}; 0STEP", f"1B0; 1REDUCE; 1TIE {BOTH}; 1STEP"),
        PAIR,
        [],
    ),
    (
        (f"0B0; 0REDUCE; 0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1REDUCE; 1STEP"),
        PAIR,
        ["PP707 r0.2", "PP707 r1.1"],
    ),
    (
        (f"0B0; 0REDUCE shard=0; 0TIE {BOTH}; 0STEP", f"1B0; 1REDUCE shard=0; 1TIE {BOTH}; 1STEP"),
        PAIR,
        [],
    ),
    (
        (f"0B0; 0REDUCE shard=0; 0TIE {BOTH}; 0STEP", f"1B0; 1REDUCE; 1TIE {BOTH}; 1STEP"),
        PAIR,
        ["PP707 r0.2", "PP707 r1.2"],
    ),
    ((f"0B0; 0TIE {BOTH} param=E; 0STEP", f"1B0; 1TIE {BOTH} param=E; 1STEP"), PAIR, []),
    (
        (
            f"0W0 param=E; 0TIE {BOTH} param=E; 0W1 param=E; 0STEP",
            f"1B0; 1B1; 1TIE {BOTH} param=E; 1STEP",
        ),
        tie(2, [[0, 1]], microbatches=2, fragment=True),
        ["PP707 r0.3"],
    ),
    (
        (
            f"0W0 param=E; 0W0 param=a; 0W1 param=E; 0TIE {BOTH} param=E; 0W1 param=a; 0STEP",
            f"1B0; 1B1; 1TIE {BOTH} param=E; 1STEP",
        ),
        tie(2, [[0, 1]], microbatches=2, fragment=True),
        [],
    ),
    (
        ("0B0; 3B0; 0TIE ranks=0; 3TIE ranks=0; 0STEP; 3STEP", "1B0; 2B0; 1STEP; 2STEP"),
        tie(4, [[0, 3]], placement="v"),
        [],
    ),
    (
        (
            f"0B0; 0TIE {BOTH}; 0STEP; 0B1; 0STEP",
            f"1B0; 1TIE {BOTH}; 1STEP; 1B1; 1TIE {BOTH}; 1STEP",
        ),
        tie(2, [[0, 1]], steps=2),
        ["PP707 r0.4"],
    ),
    ((f"0TIE {BOTH}; 0STEP", f"1B0; 1TIE {BOTH}; 1STEP"), tie(2, [[0, 1]], fragment=True), []),
    (("0STEP", f"1B0; 1TIE {BOTH}; 1STEP"), tie(2, [[0, 1]], fragment=True), ["PP707 r0.0"]),
    (("0STEP", "1STEP"), tie(2, [[0, 1]], fragment=True), []),
    (("0F0; 0STEP", "1F0; 1STEP"), PAIR, []),
]
LINES: dict[str, object] = {"stages": 4, "microbatches": 2, "pipelines": [["0", "1"], ["3", "2"]]}
PIPELINES = [
    (
        (
            f"0B0; 3B1; 0TIE {BOTH}; 3TIE {BOTH}; 0STEP; 3STEP",
            f"1B0; 2B1; 1TIE {BOTH}; 2TIE {BOTH}; 1STEP; 2STEP",
        ),
        {**LINES, "placement": ["0", "1", "1", "0"]},
        [],
    ),
    (
        (
            "0B0; 3B1; 0TIE ranks=0; 3TIE ranks=0; 0STEP; 3STEP",
            "1B0; 2B1; 1TIE ranks=1; 2TIE ranks=1; 1STEP; 2STEP",
        ),
        {**LINES, "placement": ["0", "1", "1", "0"]},
        [],
    ),
    (("0B0; 3B1", "1B0; 2B1"), {**LINES, "placement": ["0", "1", "1", "0"]}, []),
    (
        ("0B0; 2B1; 0STEP; 2STEP", "1B0; 3B1; 1STEP; 3STEP"),
        {**LINES, "placement": ["0", "1", "0", "1"]},
        ["PP707 r0.2", "PP707 r0.3", "PP707 r1.2", "PP707 r1.3"],
    ),
    (
        (
            f"0B0; 2B1; 0TIE {BOTH}; 2TIE {BOTH}; 0STEP; 2STEP",
            f"1B0; 3B1; 3TIE {BOTH}; 1TIE {BOTH}; 1STEP; 3STEP",
        ),
        {**LINES, "placement": ["0", "1", "0", "1"]},
        [],
    ),
]
NORM: dict[str, object] = {"stages": 2, "gradients": {"norm": "all"}}
NORMED = [
    ((f"0B0; 0NORM {BOTH}; 0STEP", f"1B0; 1NORM {BOTH}; 1STEP"), NORM, []),
    ((f"0B0; 0NORM {BOTH}; 0STEP", "1B0; 1NORM ranks=1; 1STEP"), NORM, ["PP709 r1.2"]),
    ((f"0B0; 0NORM {BOTH}; 0STEP", "1B0; 1STEP"), NORM, ["PP709 r1.1"]),
    ((f"0NORM {BOTH}; 0B0; 0STEP", f"1B0; 1NORM {BOTH}; 1STEP"), NORM, ["PP709 r0.2"]),
    (
        (f"0B0; 0NORM {BOTH}; 0REDUCE; 0STEP", f"1B0; 1REDUCE; 1NORM {BOTH}; 1STEP"),
        NORM,
        ["PP709 r0.3"],
    ),
    ((f"0ZERO; 0B0; 0NORM {BOTH}; 0SCALE by=1; 0STEP", f"1B0; 1NORM {BOTH}; 1STEP"), NORM, []),
    (("0B0", f"1B0; 1NORM {BOTH}"), NORM, ["PP709 r0.1"]),
    (("0B0; 0SKIP", "1B0; 1SKIP"), NORM, []),
    ((f"0W0 param=a; 0NORM {BOTH} param=a; 0STEP", f"1B0; 1NORM {BOTH}; 1STEP"), NORM, []),
    (
        (f"0W0 param=a; 0W0 param=b; 0NORM {BOTH} param=a; 0STEP", f"1B0; 1NORM {BOTH}; 1STEP"),
        NORM,
        ["PP709 r0.3"],
    ),
    (
        (
            f"0B0; 0NORM {BOTH}; 0STEP; 0B1; 0STEP",
            f"1B0; 1NORM {BOTH}; 1STEP; 1B1; 1NORM {BOTH}; 1STEP",
        ),
        {**NORM, "steps": 2},
        ["PP709 r0.4"],
    ),
    (("0B0; 0STEP", "1B0; 1STEP"), {"stages": 2}, []),
]


@pytest.mark.parametrize(("programs", "keys", "found"), [*TIED, *PIPELINES])
def test_copies_are_summed_up_before_they_are_used(
    programs: tuple[str, ...], keys: dict[str, object], found: list[str]
) -> None:
    assert faults(frame(*programs, **keys)) == found


@pytest.mark.parametrize(("programs", "keys", "found"), NORMED)
def test_a_norm_over_all_ranks_stands_before_a_gradient_is_used(
    programs: tuple[str, ...], keys: dict[str, object], found: list[str]
) -> None:
    assert faults(frame(*programs, **keys)) == found


def test_a_tied_parameter_names_its_copies_and_the_tie_that_lacks() -> None:
    programs = ("0TIE ranks=0,1 param=E; 0B0; 0STEP", "1B0; 1TIE ranks=0,1 param=E; 1STEP")

    assert said("untied_parameters", *programs, **PAIR) == [
        {
            "why": "at 0STEP parameter E of stage 0 is not tied to its copy on stage 1: "
            "no TIE ranks=0,1 stands after 0B0"
        }
    ]


def test_unlike_copies_are_told_with_their_states() -> None:
    programs = ("0B0; 0REDUCE shard=1; 0TIE ranks=0,1", "1B0; 1REDUCE; 1TIE ranks=0,1")

    assert said("untied_parameters", *programs, **PAIR)[0] == {
        "op": "0TIE ranks=0,1",
        "why": "0TIE ranks=0,1 sums up unlike copies: stage 0 reduced to shard 1, stage 1 reduced",
    }


def test_a_stage_of_another_pipeline_is_asked_for_its_own_microbatches() -> None:
    keys: dict[str, object] = {**LINES, "placement": ["0", "1", "0", "1"]}

    assert faults(frame("0F0; 0B0; 2B1", "1B0; 3F1; 3B1", **keys)) == []
    assert faults(frame("0F0; 2F1; 2B1", "1B0; 3F1; 3B1", **keys)) == ["PP701 r0.3"]
    assert "PP703 r1.4" in faults(frame("0F0; 0B0; 2B1", "1B0; 1B1; 3F1; 3B1", **keys))


def test_ties_that_wait_for_each_other_are_interpreted_all_the_same() -> None:
    programs = (
        "0B0; 0TIE ranks=0,1; 0TIE ranks=0,1 param=a; 0STEP",
        "1B0; 1TIE ranks=0,1 param=a; 1TIE ranks=0,1; 1STEP",
    )

    assert isinstance(faults(frame(*programs, **PAIR)), list)


def test_a_tie_again_and_again_stays_small() -> None:
    again = "; ".join(["{s}TIE ranks=0,1"] * 200)
    programs = [f"{s}B0; {again.format(s=s)}; {s}STEP" for s in (0, 1)]

    assert faults(frame(*programs, **PAIR)) == ["PP702 r0.201", "PP702 r1.201"]
