"""Gradients where they are used: verdicts written down from the language before they were run."""

from fractions import Fraction

import pytest

from pipeproof.api import judge_text
from pipeproof.errors import MalformedScheduleError
from pipeproof.semantics.relations import FINDINGS, gradients
from pipeproof.semantics.relations._accumulators import interpret
from pipeproof.semantics.relations._asked import Asked
from tests.semantics.gradient_faults import faults, said
from tests.semantics.made import frame, text

M2: dict[str, object] = {"microbatches": 2}
M3: dict[str, object] = {"microbatches": 3}
T2: dict[str, object] = {"steps": 2}
MEAN: dict[str, object] = {"microbatches": 2, "gradients": {"coefficients": "mean"}}
EACH: dict[str, object] = {"microbatches": 2, "weights": {"updates": "microbatch"}}
FRAGMENT: dict[str, object] = {"fragment": True}

LOST = [
    ("0B0; 0B1; 0STEP", M2, []),
    ("0B0; 0STEP", M2, ["PP701 r0.1"]),
    ("0B0", M2, ["PP701 r0.1"]),
    ("0F0; 0F1; 0STEP", M2, []),
    ("0B0; 0I1; 0STEP", M2, ["PP701 r0.2"]),
    ("0B0; 0I1; 0STEP", {**M2, **FRAGMENT}, []),
    ("0B0; 0STEP", {**M2, **FRAGMENT}, []),
    ("0B0; 0ZERO; 0B1; 0STEP", M2, ["PP701 r0.3"]),
    ("0B0; 0ZERO; 0B1; 0STEP", {**M2, **FRAGMENT}, ["PP701 r0.3"]),
    ("0B0; 0B1; 0ZERO; 0STEP", M2, ["PP701 r0.3"]),
    ("0B0; 0B1; 0STEP; 0ZERO", M2, []),
    ("0ZERO; 0B0; 0B1; 0STEP", M2, []),
    ("0B0 mode=assign; 0B1; 0STEP", M2, []),
    ("0B0; 0B1 mode=assign; 0STEP", M2, ["PP701 r0.2"]),
    ("0B0; 0B1 mode=add; 0STEP", M2, []),
    ("0B0; 0STEP; 0B1", M2, ["PP706 r0.1"]),
    ("0B0; 0ZERO; 0STEP; 0B1", M2, ["PP701 r0.2", "PP706 r0.2"]),
    ("0B0; 0B1; 0SKIP", M2, []),
    ("0B0; 0SKIP", M2, []),
    ("0B0; 0ZERO; 0B0; 0STEP", {}, []),
    ("0B0; 0ZERO", {}, ["PP701 r0.2"]),
    ("0W0; 0W1; 0STEP", M2, []),
]
LOST += [
    ("0B0; 0B1 c=1/2; 0STEP; 0B0", MEAN, ["PP703 r0.2", "PP706 r0.2"]),
    ("0B0 c=1/4; 0B1 c=1/2; 0STEP; 0B0 c=1/4", MEAN, ["PP706 r0.2"]),
    ("0B0; 0STEP; 0STEP", {}, ["PP701 r0.2"]),
    ("0B0; 0STEP; 0STEP", FRAGMENT, []),
    ("0B0; 0STEP; 0SKIP", {}, []),
    ("0ZERO; 0B0; 0STEP; 0STEP", {}, ["PP701 r0.3"]),
    ("0B0; 0STEP; 0STEP", {"weights": {"updates": "microbatch"}}, []),
    ("0W0 param=a; 0W0 param=b; 0W1 param=a; 0STEP", M2, ["PP701 r0.3"]),
    ("0W0 param=a; 0W0 param=b; 0W1 param=a; 0STEP", {**M2, **FRAGMENT}, ["PP701 r0.3"]),
    ("0B0; 0STEP; 0B0 c=1/2", {**T2, **FRAGMENT}, ["PP703 r0.3", "PP706 r0.1"]),
]
REPEATED = [
    ("0B0; 0B0; 0STEP", {}, ["PP702 r0.2"]),
    ("0B0; 0W0; 0STEP", {}, ["PP702 r0.2"]),
    ("0I0; 0W0; 0STEP", {}, []),
    ("0B0; 0B0", {}, ["PP702 r0.2"]),
    ("0B0; 0B0; 0B0; 0STEP", FRAGMENT, ["PP702 r0.3"]),
    ("0B0 param=a; 0W0 param=b; 0STEP", {}, []),
    ("0B0 param=a; 0W0 param=a; 0STEP", {}, ["PP702 r0.2"]),
    ("0B0; 0W0 param=a; 0STEP", {}, ["PP702 r0.2"]),
    ("0B0 c=1/2; 0B0 c=1/2; 0STEP", {}, []),
    ("0B0 c=1/2; 0B0; 0STEP", {}, ["PP702 r0.2"]),
    ("0B0; 0B0; 0B1; 0STEP", M2, ["PP702 r0.3"]),
]
WRONG = [
    ("0B0 c=1/2; 0B1 c=1/2; 0STEP", MEAN, []),
    ("0B0; 0B1; 0STEP", MEAN, ["PP703 r0.2"]),
    ("0B0; 0B1; 0SCALE by=1/2; 0STEP", MEAN, []),
    ("0B0; 0SCALE by=1/2; 0B1; 0STEP", MEAN, ["PP703 r0.3"]),
    ("0B0; 0SCALE by=1/2; 0B1 c=1/2; 0STEP", MEAN, []),
    ("0B0 c=1/2; 0B1 c=1/2; 0SCALE by=1/2; 0STEP", MEAN, ["PP703 r0.3"]),
    ("0SCALE by=1/2; 0B0; 0STEP", {}, []),
    ("0B0; 0SCALE by=0; 0STEP", {}, ["PP703 r0.2"]),
    ("0B0 c=1/3; 0B0 c=1/3; 0B0 c=1/3; 0STEP", {}, []),
    ("0B0 c=1/3; 0B0 c=1/3; 0STEP", {}, ["PP703 r0.2"]),
    ("0B0 c=1/2; 0SCALE by=4; 0B0 c=1/2; 0SCALE by=2/5; 0STEP", {}, []),
    (
        "0B0 c=3/4; 0B1 c=1/4; 0STEP",
        {"microbatches": 2, "gradients": {"coefficients": {"tokens": ["6", "2"]}}},
        [],
    ),
    (
        "0B0 c=1/2; 0B1 c=1/2; 0STEP",
        {"microbatches": 2, "gradients": {"coefficients": {"tokens": ["6", "2"]}}},
        ["PP703 r0.2"],
    ),
    ("0B0; 0B1 c=2; 0STEP", {"microbatches": 2, "gradients": {"coefficients": ["1", "2"]}}, []),
    (
        "0B0; 0B1; 0STEP",
        {"microbatches": 2, "gradients": {"coefficients": ["1", "2"]}},
        ["PP703 r0.2"],
    ),
    ("0B0; 0STEP", {"microbatches": 2, "gradients": {"coefficients": ["1", "0"]}}, []),
    ("0B0; 0B1; 0STEP", {"microbatches": 2, "gradients": {"coefficients": "sum"}}, []),
    ("0B0 c=1/2; 0STEP; 0B0 c=1/2", {}, ["PP706 r0.1"]),
    ("0B1 c=1/2; 0B0 c=1/2; 0STEP", {"segments": 2, "gradients": {"coefficients": ["1/2"]}}, []),
    ("0B1; 0B0 c=2; 0STEP", {"segments": 2, "gradients": {"coefficients": ["2", "1"]}}, []),
]
STEPS = [
    ("0B0; 0STEP; 0B1; 0STEP", T2, []),
    ("0B0; 0STEP; 0B1", T2, []),
    ("0B0; 0B1", T2, []),
    ("0B0; 0B1; 0STEP", T2, ["PP701 r0.3", "PP703 r0.2"]),
    ("0B0; 0B1; 0STEP; 0STEP", T2, ["PP701 r0.3", "PP703 r0.2"]),
    ("0STEP; 0B0; 0B1; 0STEP", T2, ["PP703 r0.3", "PP706 r0.0"]),
    ("0B0; 0STEP; 0STEP", T2, ["PP701 r0.2"]),
    ("0B0; 0SKIP; 0B1; 0STEP", T2, []),
    ("0B0; 0SKIP; 0STEP", T2, ["PP701 r0.2"]),
    ("0B0; 0STEP; 0B1; 0ZERO; 0STEP", T2, ["PP701 r0.4"]),
    (
        "0B0 c=1/2; 0B1; 0STEP",
        {"gradients": {"coefficients": ["1/2"]}, "steps": 2},
        ["PP701 r0.3", "PP703 r0.2"],
    ),
    ("0B0; 0STEP; 0B1; 0STEP", M2, ["PP703 r0.3", "PP706 r0.1"]),
    ("0B0; 0STEP; 0B1; 0STEP", EACH, []),
    ("0B0; 0B1; 0STEP", EACH, []),
    ("0B0; 0STEP; 0B1", EACH, ["PP701 r0.3"]),
    ("0B0; 0STEP; 0B1", {**EACH, **FRAGMENT}, []),
    ("0B0; 0STEP; 0B0; 0STEP", EACH, ["PP702 r0.3"]),
    ("0B0; 0B0; 0STEP; 0B1; 0STEP", EACH, ["PP702 r0.2"]),
    ("0B0; 0ZERO; 0STEP; 0B1; 0STEP", EACH, ["PP701 r0.2"]),
    ("0B0 c=1/2; 0STEP; 0B1; 0STEP", EACH, ["PP703 r0.1"]),
    ("0B0; 0STEP param=a; 0STEP param=b; 0B1; 0STEP", T2, []),
    ("0B0; 0STEP param=a; 0B1 param=a; 0STEP param=b; 0B1 param=b; 0STEP", T2, ["PP701 r0.5"]),
    ("0B0 param=a; 0STEP param=a; 0B0 param=b; 0STEP param=b", {}, []),
    ("0B0 param=a; 0STEP param=b; 0B0 param=b; 0STEP param=a", {}, ["PP706 r0.1"]),
    ("0B0; 0STEP; 0ROLLBACK; 0STEP; 0COMMIT", {}, []),
    ("0B0; 0STEP; 0ROLLBACK; 0B1; 0STEP", M2, []),
    ("0B0; 0STEP; 0ROLLBACK; 0B0; 0STEP", {}, ["PP702 r0.4"]),
    ("0STEP; 0ROLLBACK; 0STEP", {**M2, **FRAGMENT}, []),
    ("0B0; 0B1; 0STEP; 0COMMIT; 0ROLLBACK; 0STEP", M2, ["PP701 r0.5"]),
]
STALE = [
    ("0STALE; 0B0; 0STEP", {}, ["PP708 r0.2"]),
    ("0STALE; 0ZERO; 0B0; 0STEP", {}, []),
    ("0STALE; 0B0 mode=assign; 0STEP", {}, []),
    ("0STALE; 0B0", {}, ["PP708 r0.2"]),
    ("0STALE; 0STEP; 0B0; 0STEP", EACH | {"microbatches": 1}, ["PP708 r0.1"]),
    ("0STALE; 0SKIP; 0B0; 0STEP", EACH | {"microbatches": 1}, []),
    ("0STALE param=a; 0ZERO param=b; 0B0; 0STEP", {}, ["PP708 r0.3"]),
    ("0STALE param=a; 0ZERO param=a; 0B0; 0STEP", {}, []),
    ("0STALE param=a; 0B0; 0STEP param=b; 0STEP param=a", {}, ["PP708 r0.3"]),
    ("0B0; 0STEP; 0STALE", {}, []),
    ("0B0; 0ZERO; 0STALE; 0STEP", FRAGMENT, ["PP701 r0.3", "PP708 r0.3"]),
]


@pytest.mark.parametrize(("program", "keys", "found"), [*LOST, *REPEATED, *WRONG, *STEPS, *STALE])
def test_a_gradient_takes_every_contribution_once_and_as_asked(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    made = frame(program, **{"stages": 1, **keys})

    assert faults(made) == found


def test_what_is_lost_is_told_with_what_cleared_it() -> None:
    program = "0B0; 0B1; 0ZERO; 0B2 mode=assign; 0B3; 0STEP"

    assert said("lost_contributions", program, stages=1, microbatches=5) == [
        {
            "op": "0STEP",
            "stage": "0",
            "lost": "microbatches 0, 1 (0ZERO cleared it); microbatch 4 (no B or W adds it)",
        }
    ]
    assert said("lost_contributions", "0B0; 0B1 mode=assign", stages=1, microbatches=2) == [
        {
            "op": "the end of the program",
            "stage": "0",
            "lost": "microbatch 0 (0B1 mode=assign overwrote it)",
        }
    ]


def test_many_microbatches_are_counted_not_listed() -> None:
    plain = said("lost_contributions", "0B0; 0STEP", stages=1, microbatches=20)
    exact = said("lost_contributions", "0ZERO; 0B0; 0STEP", stages=1, microbatches=20)
    listed = "microbatches 1, 2, 3, 4, 5, 6, 7, 8"

    assert plain[0]["lost"] == f"{listed} (no B or W adds it); and 11 more"
    assert exact[0]["lost"] == f"{listed} and 11 more (no B or W adds it)"


def test_what_is_repeated_is_told_with_the_operations() -> None:
    assert said("repeated_contributions", "0B0; 0W0 param=a; 0STEP", stages=1) == [
        {
            "op": "0STEP",
            "stage": "0",
            "repeated": "microbatch 0 in parameter a (added by 0B0 and 0W0 param=a)",
        }
    ]
    assert said("repeated_contributions", "0B0; 0B0; 0B0", stages=1) == [
        {"op": "the end of the program", "stage": "0", "repeated": "microbatch 0 (added 3 times)"}
    ]


def test_a_wrong_coefficient_is_told_as_fractions() -> None:
    keys: dict[str, object] = {"stages": 1, **MEAN}
    plain = said("wrong_coefficients", "0B0; 0B1; 0STEP", **keys)
    exact = said("wrong_coefficients", "0B0 c=1/3; 0B1 c=1/2; 0SCALE by=2/3; 0STEP", **keys)

    assert plain[0]["wrong"] == "microbatches 0, 1 (1 instead of 1/2)"
    assert exact[0]["wrong"] == (
        "microbatch 0 (2/9 instead of 1/2); microbatch 1 (1/3 instead of 1/2)"
    )


def test_a_contribution_to_another_step_is_told_with_its_step() -> None:
    assert said("wrong_coefficients", "0B0; 0B1; 0STEP", stages=1, steps=2)[0]["wrong"] == (
        "microbatch 1 (it belongs to step 1)"
    )


def test_a_stale_gradient_names_what_left_it() -> None:
    assert said("stale_accumulators", "0STALE param=a; 0B0; 0STEP", stages=1) == [
        {"op": "0STEP", "stage": "0", "what": "parameter a of ", "left": "0STALE param=a"}
    ]


def test_where_nothing_runs_backward_no_contribution_is_asked_for() -> None:
    made = frame("0F0; 0STEP", "1F0; 1STEP", stages=2)

    assert [FINDINGS[name](made).instances for name in ("lost_contributions",)] == [0]
    assert faults(made) == []


def test_instances_are_the_contributions_that_are_asked_for() -> None:
    plain, exact = (frame(p, stages=1, microbatches=2) for p in ("0B0; 0B1", "0ZERO; 0B0; 0B1"))

    for made in (plain, exact):
        assert gradients.lost(made).instances == 2
        assert gradients.repeated(made).instances == 2
        assert gradients.wrong(made).instances == 2
    assert gradients.stale(plain).instances == gradients.untied(plain).instances == 0


def test_a_contribution_on_another_rank_is_not_lost() -> None:
    keys: dict[str, object] = {"stages": 1, "placement": ["0"]}

    assert faults(frame("0F0; 0STEP", "0B0", **keys)) == []
    assert faults(frame("0F0; 0ZERO; 0STEP", "0B0", **keys)) == []


ORDERS = [
    ("0B0; 0STEP; 0B1; 0STEP", T2),
    ("0B1; 0STEP; 0B0; 0STEP", T2),
    ("0B0; 0B0; 0SKIP; 0B1", T2),
    ("0STEP; 0B0; 0B1; 0B1", T2),
    ("0B0; 0STEP; 0STEP; 0B1; 0STEP", T2),
    ("0B0; 0B1; 0B1; 0STEP; 0B0", EACH),
    ("0B0; 0STEP; 0B0; 0STEP; 0B1; 0STEP", EACH),
    ("0B0; 0STEP; 0B1", EACH),
    ("0B0; 0SKIP; 0B1", EACH),
    ("0B0; 0B2", {**M3, **FRAGMENT}),
    ("0B0; 0B1; 0STEP", MEAN),
    ("0B0; 0B1; 0B1", MEAN),
]


@pytest.mark.parametrize(("program", "keys"), ORDERS)
def test_counting_and_interpreting_agree(program: str, keys: dict[str, object]) -> None:
    plain = frame(program, **{"stages": 1, **keys})
    exact = frame(f"0SCALE by=1; {program}", **{"stages": 1, **keys})
    shifted = [
        f"{code} r0.{int(place.partition('.')[2]) + 1}"
        for code, place in (each.split() for each in faults(plain))
    ]

    assert sorted(shifted) == faults(exact)


def test_a_coefficient_is_exact() -> None:
    made = frame("0B0 c=1/3; 0SCALE by=3/7; 0STEP", stages=1)
    (use, _) = interpret(made, Asked(made), [0]).uses

    assert [share.coefficient for share in use.held[0].shares] == [Fraction(1, 7)]


def test_tokens_that_sum_to_nothing_are_refused() -> None:
    keys = {"gradients": {"coefficients": {"tokens": ["0", "0"]}}}
    with pytest.raises(MalformedScheduleError, match="the tokens of a step sum to 0"):
        judge_text(text("0B0; 0B1", microbatches=2, **keys), "made.yaml")
