"""Which update takes what, and which version is asked for."""

import numpy as np
import pytest

from pipeproof.ir.actions import Kind
from pipeproof.semantics.updates import (
    EVALUATING,
    Policy,
    applied_to,
    asked_of,
    evaluations,
    policy_of,
    taken_by,
    whole,
)
from pipeproof.semantics.versions import versions_of
from tests.semantics.made import run, schedule


@pytest.mark.parametrize(
    ("keys", "policy"),
    [
        ({}, Policy("flush", "step", None, None)),
        ({"weights": {"policy": "stash"}}, Policy("stash", "step", None, None)),
        ({"weights": {"updates": "microbatch"}}, Policy("flush", "microbatch", None, None)),
        ({"weights": {"policy": "2bw"}}, Policy("2bw", "step", 2, None)),
        (
            {"weights": {"policy": "2bw"}, "storage": {"weights": {"slots": 3}}},
            Policy("2bw", "step", 3, None),
        ),
        ({"bounds": {"staleness": 0, "live": 4}}, Policy("flush", "step", None, 0)),
    ],
)
def test_the_policy_is_what_the_keys_say(keys: dict[str, object], policy: Policy) -> None:
    assert policy_of(schedule("0F0", **keys)) == policy


def taken(program: str, **keys: object) -> list[int]:
    """The position of the STEP or SKIP that takes what each operation works for."""
    made = versions_of(run(program, **keys))
    at = evaluations(made, *EVALUATING)
    rows, weights = made.reads.rows[at], made.weight[made.reads.versions[at]]
    found = taken_by(made, policy_of(made.run.schedule), rows, weights)
    return [int(row) for row in found]


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0B0; 0STEP", {}, [2, 2]),
        ("0F0; 0B0", {}, [-1, -1]),
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", {"steps": 2}, [2, 2, 5, 5]),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0SKIP", {"steps": 2}, [3, 5, 3, 5]),
        ("0F0; 0B0; 0F1; 0B1; 0STEP", {"steps": 2}, [4, 4, -1, -1]),
        ("0F0; 0B0; 0STEP; 0F1; 0B1", {"microbatches": 2}, [2, 2, 2, 2]),
        ("0STEP; 0F0; 0B0", {}, [-1, -1]),
        ("0STEP; 0F0; 0B0; 0STEP", {}, [3, 3]),
        ("0F0; 0B0; 0STEP; 0ROLLBACK; 0STEP", {}, [4, 4]),
        (
            "0F0; 0F1; 0B1; 0B0; 0STEP; 0F2; 0B2; 0STEP",
            {"segments": 2, "steps": 2},
            [4] * 4 + [7] * 2,
        ),
    ],
)
def test_the_step_of_a_microbatch_takes_it(
    program: str, keys: dict[str, object], found: list[int]
) -> None:
    assert taken(program, **keys) == found


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", [3, 5, 3, 5]),
        ("0F0; 0F1; 0B0; 0STEP; 0B1", [3, -1, 3, -1]),
        ("0F0; 0I0; 0STEP; 0W0; 0STEP", [4, 4, 4]),
        ("0F0; 0F1; 0B0; 0STEP", [3, -1, 3]),
    ],
)
def test_every_microbatch_is_taken_by_the_next_update(program: str, found: list[int]) -> None:
    assert taken(program, weights={"updates": "microbatch"}, microbatches=2) == found


def test_an_update_changes_the_version_before_it() -> None:
    made = versions_of(run("0B0; 0STEP; 0B1; 0STEP", steps=2))

    at = applied_to(made, np.asarray([1, 3, -1]), np.asarray([0, 0, 0]))

    assert at.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        ("flush", [0, 0, 1, 1]),
        ("speculative", [0, 0, 1, 1]),
        ("2bw", [0, 0, 0, 0]),
        ("vertical", [0, 0, 1, 1]),
        ("stash", None),
        ("latest", None),
    ],
)
def test_each_policy_asks_for_its_version(policy: str, asked: list[int] | None) -> None:
    program = "0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP"
    made = versions_of(run(program, steps=2, weights={"policy": policy}))

    found = asked_of(made, policy_of(made.run.schedule), evaluations(made, *EVALUATING))

    assert (None if found is None else found.tolist()) == asked


def test_only_what_counts_in_the_first_copy_is_judged() -> None:
    made = versions_of(run("0F0; 0STEP; 0F0; 0ROLLBACK", steps="any", copies=2))

    assert made.reads.rows[evaluations(made, Kind.F)].tolist() == [0]


def test_segments_belong_to_one_microbatch() -> None:
    made = versions_of(run("0F0; 0F1; 0F2; 0F3", segments=2, microbatches=2))

    assert whole(made, made.reads.rows).tolist() == [0, 0, 1, 1]
