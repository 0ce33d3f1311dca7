"""Stages that are sharded."""

import pytest

from pipeproof.semantics.relations.sharding import (
    ends_as_it_starts,
    repeated_changes,
    sharded,
)
from tests.semantics.made import frame, places


@pytest.mark.parametrize("op", ["0F0", "0B0", "0I0", "0W0", "0R0"])
def test_a_sharded_stage_computes_nothing(op: str) -> None:
    made = frame(f"{op}; 0UNSHARD; {op}; 0RESHARD; {op}")

    assert places(made, sharded(made)) == ["r0.0", "r0.4"]


@pytest.mark.parametrize("op", ["0L0", "0W0 w=none", "0STEP"])
def test_what_reads_no_weights_may_run_while_its_stage_is_sharded(op: str) -> None:
    made = frame(f"{op}; 0UNSHARD; 0F0; 0RESHARD")

    assert places(made, sharded(made)) == []


def test_a_stage_that_is_never_resharded_is_not_sharded_at_all() -> None:
    made = frame("0F0; 1UNSHARD; 1F0")

    assert (sharded(made).instances, places(made, sharded(made))) == (1, [])


def test_a_stage_with_nothing_but_a_reshard_is_sharded_from_the_start() -> None:
    made = frame("0F0; 0RESHARD")

    assert places(made, sharded(made)) == ["r0.0"]


def test_an_unshard_on_another_rank_gathers_nothing_here() -> None:
    made = frame("0UNSHARD", "0F0")

    assert places(made, sharded(made)) == ["r1.0"]


def test_without_sharding_nothing_is_judged() -> None:
    assert sharded(frame("0F0; 9F0", stages=1)).instances == 0


@pytest.mark.parametrize(
    ("program", "changes", "repeats"),
    [
        ("0F0", 0, list[int]()),
        ("0UNSHARD; 0UNSHARD; 0RESHARD; 0RESHARD", 4, [1, 3]),
        ("0UNSHARD; 1UNSHARD; 1RESHARD", 3, list[int]()),
        ("9UNSHARD; 9UNSHARD", 0, list[int]()),
    ],
)
def test_changes_that_change_nothing_are_found(
    program: str, changes: int, repeats: list[int]
) -> None:
    number, rows = repeated_changes(frame(program, stages=2))

    assert (number, rows.tolist()) == (changes, repeats)


def test_the_last_change_of_each_stage_decides_how_it_ends() -> None:
    assert ends_as_it_starts(frame("0UNSHARD; 0RESHARD", "1UNSHARD; 1RESHARD"))
    assert not ends_as_it_starts(frame("0UNSHARD; 0RESHARD", "1UNSHARD"))
    assert ends_as_it_starts(frame("0F0"))
