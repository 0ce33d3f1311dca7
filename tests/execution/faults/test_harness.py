from dataclasses import replace

import pytest

from pipeproof.execution.faults.findings import Answer, Finding, Place
from pipeproof.ir.faults import Policy
from tests.execution.faults.ran import trial

CLEAN = trial("dropped@r0:0SEND_F0", "recover")


def test_a_trial_says_that_it_shows_its_own_fault_only() -> None:
    said = str(CLEAN)

    assert CLEAN.is_kept
    assert said == (
        "lost message: rank 0, stage 0, microbatch 0, forward, message; named exactly; "
        "all ranks: stepped; nothing half applied; "
        "one run, it shows this fault here and nothing of others"
    )


def test_a_rank_that_steps_alone_is_half_applied() -> None:
    first, *others = CLEAN.ended
    alone = replace(CLEAN, ended=(first, *(each._replace(after=each.before) for each in others)))
    other = replace(CLEAN, ended=(first._replace(after={0: "other"}), *others))

    assert "half applied: ranks [0] have other weights than before" in str(alone)
    assert "applied wrong: ranks [0] have other weights than without" in str(other)
    assert "half applied" not in str(other)
    assert not alone.is_kept
    assert not other.is_kept


def test_ranks_must_say_and_do_the_same() -> None:
    first, *others = CLEAN.ended
    says = replace(CLEAN, ended=(first._replace(findings=()), *others))
    does = replace(CLEAN, ended=(first._replace(outcome="skipped"), *others))

    assert "the ranks do not say the same" in list(says.broken())
    assert "the ranks do not do the same" in list(does.broken())


def test_the_policy_is_kept_or_that_is_told() -> None:
    raising = replace(CLEAN, policy="raise")

    assert list(raising.broken()) == ["the policy is raise, and the ranks have stepped"]


def test_a_step_on_other_numbers_is_told() -> None:
    first, *others = CLEAN.ended
    wrong = replace(CLEAN, ended=(first._replace(differs="0B0"), *others))

    assert list(wrong.broken()) == ["the step is taken, and 0B0 is not that of the unsplit model"]


def test_a_claim_without_two_confirmations_is_told() -> None:
    (finding,) = CLEAN.findings
    short = tuple(
        each._replace(findings=(finding._replace(confirmations=("once",)),)) for each in CLEAN.ended
    )

    assert "a fault is claimed without two confirmations" in list(
        replace(CLEAN, ended=short).broken()
    )


def test_another_place_or_more_than_the_fault_is_not_named_exactly() -> None:
    (finding,) = CLEAN.findings
    other = Finding(Answer.LATE_MESSAGE, Place(2), ("a", "b"), 0)
    moved = finding._replace(place=finding.place._replace(microbatch=1))
    for said in ((), (moved,), (finding, other)):
        ended = tuple(each._replace(findings=said) for each in CLEAN.ended)
        found = replace(CLEAN, ended=ended)

        assert not found.is_named
        assert "expected lost message: rank 0" in str(found)


def test_a_control_that_is_not_clean_is_not_trusted() -> None:
    first, *others = CLEAN.control
    (finding,) = CLEAN.findings
    for each in (
        first._replace(findings=(finding,)),
        first._replace(outcome="raised"),
        first._replace(differs="0F0"),
    ):
        found = replace(CLEAN, control=(each, *others))
        assert not found.is_kept
        assert str(found).startswith("do not trust this: without a fault, ")


@pytest.mark.parametrize(
    ("fault", "ranks", "said"),
    [
        (
            "turned=sign@r0:0F0",
            1,
            "cannot be localised: no other rank has a copy; nothing is to be",
        ),
        (
            "turned=sign@r0:0F0",
            2,
            "disagreement: rank 0, stage 0, microbatch 0, forward; the place",
        ),
        ("delayed=2@r0:0SEND_F0", 2, "nothing is noticed; nothing is to be named"),
        ("delayed@r0:0F0", 1, "nothing is noticed; nothing is to be named"),
        ("stops@r0:1", 1, "nothing is noticed; nothing is to be named; no rank is left"),
        ("missing@r0", 1, "nothing is noticed; nothing is to be named; no rank is left"),
    ],
)
def test_what_nobody_can_name_is_not_said_to_be_named(fault: str, ranks: int, said: str) -> None:
    found = trial(fault, own=(ranks, 1, "linear"))

    assert found.is_kept
    assert str(found).startswith(said)
    assert "named exactly" not in str(found)


@pytest.mark.parametrize("policy", ["raise", "recover"])
def test_a_message_that_has_not_come_at_the_fourth_look_is_a_lost_one(policy: Policy) -> None:
    found = trial("delayed=4.5@r0:0SEND_F0", policy)

    assert found.is_kept
    assert str(found).startswith("lost message: rank 0, stage 0, microbatch 0, forward, message")
