from __future__ import annotations

import json
from itertools import product

import pytest

from pipeproof.execution.checkpoints.decisions import (
    Decision,
    Status,
    Vote,
    chosen,
    decided,
    read,
    told,
    verified,
)
from pipeproof.execution.checkpoints.state import CheckpointError


def votes(place: str = "", said: str = "") -> list[Vote]:
    """Three ranks that have restored step 5; the last one says something else."""
    same = [Vote(rank, 5, "", "a", "a", "a", "a") for rank in range(3)]
    return [*same[:2], Vote(**{**same[2]._asdict(), **({place: said} if place else {})})]


def candidate() -> Decision:
    return decided(5, 3, votes())


def made(*statuses: Status) -> list[Decision]:
    return [Decision(step, status, "so") for step, status in enumerate(statuses)]


V, C, R = Status.VERIFIED, Status.CANDIDATE, Status.REJECTED


def test_a_step_that_all_ranks_have_ended_is_a_candidate_and_no_more() -> None:
    assert candidate().status is C


def test_a_step_in_which_a_fault_was_found_is_no_candidate() -> None:
    found = decided(5, 3, votes("fault", "wrong value: rank 2, stage 2, microbatch 1, forward"))

    assert found.status is R
    assert found.excluded == ("wrong value: rank 2, stage 2, microbatch 1, forward",)


def test_a_rank_that_says_nothing_or_stands_elsewhere_is_no_consent() -> None:
    silent = decided(5, 3, votes()[:2])
    elsewhere = decided(5, 3, [*votes()[:2], Vote(2, 4)])
    twice = decided(5, 3, [*votes(), Vote(2, 5)])

    assert (silent.status, silent.excluded) == (R, ("rank 2",))
    assert (elsewhere.status, elsewhere.excluded) == (R, ("rank 2: step 4",))
    assert twice.status is R


@pytest.mark.parametrize("place", ["kept", "copied", "restored"])
def test_a_candidate_that_does_not_come_back_bitwise_is_rejected(place: str) -> None:
    found = verified(candidate(), 3, votes(place, "b"))

    assert found.status is R
    assert [each.partition(":")[0] for each in found.excluded] == ["rank 2"]


def test_a_candidate_that_comes_back_bitwise_on_all_ranks_is_verified() -> None:
    assert verified(candidate(), 3, votes()).status is V
    assert verified(candidate(), 3, votes("taken", "")).status is R
    assert verified(candidate(), 3, votes()[:2]).status is R


def test_what_is_rejected_is_never_verified() -> None:
    rejected = decided(5, 3, votes("fault", "one"))

    assert verified(rejected, 3, votes()) == rejected


def test_every_rank_comes_to_the_same_whatever_the_order_of_votes() -> None:
    given = votes("kept", "b")

    assert len({verified(candidate(), 3, sorted(given, key=lambda v: v.rank)) for _ in given}) == 1


def test_the_last_verified_step_is_chosen_and_what_came_later_is_told() -> None:
    found = chosen(made(V, V, V, R, C))

    assert found.step == 2
    assert [each.partition(":")[0] for each in found.excluded] == ["step 4", "step 3"]


def test_only_a_verified_step_is_ever_chosen() -> None:
    for statuses in product((V, C, R), repeat=3):
        if V in statuses:
            step = chosen(made(*statuses)).step
            assert statuses[step] is V
            assert V not in statuses[step + 1 :]
        else:
            with pytest.raises(CheckpointError, match="no verified step"):
                chosen(made(*statuses))


def test_a_step_that_was_decided_again_is_what_it_was_last() -> None:
    again = [*made(V, V), Decision(1, R, "so")]

    assert chosen(again).step == 0
    assert chosen([*again, Decision(1, V, "so")]).step == 1


def test_a_verified_step_that_cannot_be_read_is_passed_over() -> None:
    found = chosen(made(V, V), lambda step: "torn" if step == 1 else "")

    assert found.step == 0
    assert found.excluded == ("step 1: torn",)


def test_a_decision_is_data() -> None:
    found = Decision(4, R, "a fault was found in it", ("rank 3",))

    assert read(json.loads(json.dumps(told(found)))) == found
    assert list(told(found)) == ["step", "status", "reason", "excluded"]


@pytest.mark.parametrize("key", ["step", "status", "reason", "excluded"])
def test_a_decision_that_lacks_something_is_none(key: str) -> None:
    said = told(Decision(4, R, "so"))
    del said[key]

    with pytest.raises(CheckpointError, match="no decision"):
        read(said)
