"""What stands twice."""

import pytest

from pipeproof.semantics.relations.duplicates import duplicated
from tests.semantics.made import frame, places


def twice(*programs: str, **keys: object) -> list[str]:
    made = frame(*programs, **keys)
    return places(made, duplicated(made))


@pytest.mark.parametrize("op", ["0F0", "0B0", "0I0", "0W0", "0L0"])
def test_the_second_of_two_is_the_duplicate(op: str) -> None:
    assert twice(f"{op}; {op}") == ["r0.1"]


@pytest.mark.parametrize("op", ["0R0", "LOAD X.0", "0ZERO"])
def test_what_may_take_place_twice_is_none(op: str) -> None:
    assert twice(f"{op}; {op}") == []


def test_the_one_out_of_place_is_the_duplicate() -> None:
    assert twice("0F0", "0F0; 1F0", placement=[1, 1], stages=2) == ["r0.0"]


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0B0; 0I0", ["r0.1"]),
        ("0B0; 0W0", ["r0.1"]),
        ("0I0; 0W0; 0B0", ["r0.2"]),
        ("0I0; 0B0; 0W0", ["r0.1"]),
        ("0I0; 0W0", list[str]()),
        ("0B0; 0I1; 0W1", list[str]()),
    ],
)
def test_a_backward_is_whole_or_split(program: str, found: list[str]) -> None:
    assert twice(program, microbatches=2) == found


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0F0 bucket=a; 0F0 bucket=b", list[str]()),
        ("0F0 bucket=a; 0F0 bucket=a", ["r0.1"]),
        ("0B0 param=a; 0B0 param=b", list[str]()),
        ("0W0 param=a; 0W0 param=a", ["r0.1"]),
        ("0B0 c=1/2; 0B0 c=1/2", list[str]()),
        ("0B0 c=1/2; 0B0", ["r0.1"]),
        ("0B0; 0B0 c=1/2; 0B0 c=1/2", ["r0.1", "r0.2"]),
        ("0B0 c=1/2 param=a; 0B0 c=1/2 param=a; 0B0 param=b", list[str]()),
        ("0B0 param=a; 0B0", ["r0.1"]),
        ("0F0; 0F0 bucket=a", ["r0.1"]),
        ("0I0; 0W0 param=a; 0W0 param=b", list[str]()),
        ("0B0; 0W0 c=1", ["r0.1"]),
        ("0I0; 0W0 param=a; 0B0 param=b", list[str]()),
        ("0B0 gin=a; 0B0 gin=b", ["r0.1"]),
    ],
)
def test_parts_are_no_duplicates(program: str, found: list[str]) -> None:
    assert twice(program) == found


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0UNSHARD; 0F0; 0RESHARD", list[str]()),
        ("0UNSHARD; 0UNSHARD", ["r0.1"]),
        ("0RESHARD", ["r0.0"]),
        ("0UNSHARD; 0RESHARD; 0RESHARD; 1UNSHARD", ["r0.2"]),
    ],
)
def test_a_change_of_sharding_that_changes_nothing_is_a_duplicate(
    program: str, found: list[str]
) -> None:
    assert twice(program) == found


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0REDUCE; 0REDUCE", {}, ["r0.1"]),
        ("0REDUCE; 1REDUCE", {}, []),
        ("0REDUCE param=a; 0REDUCE param=b; 0STEP", {}, []),
        ("0REDUCE; 0REDUCE", {"gradients": {"reduce": "none"}}, []),
        ("0REDUCE; 0REDUCE", {"gradients": {"reduce": "once"}}, ["r0.1"]),
        ("0REDUCE; 0STEP; 0REDUCE; 0STEP", {"steps": 2}, []),
        ("0REDUCE; 0REDUCE; 0STEP", {"steps": 2}, ["r0.1"]),
        ("0REDUCE; 0REDUCE", {"steps": 2}, []),
        ("0REDUCE; 0REDUCE; 0REDUCE", {"steps": 2}, ["r0.2"]),
    ],
)
def test_a_gradient_is_reduced_once_a_step(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert twice(program, **keys) == found


def test_a_microbatch_that_runs_through_a_second_pipeline_is_a_duplicate_there() -> None:
    assert twice(
        "0F0; 1F0; 3F1; 2F1; 3F0", microbatches=2, stages=4, pipelines=[[0, 1], [3, 2]]
    ) == ["r0.4"]


def test_what_does_not_exist_cannot_stand_twice() -> None:
    assert twice("9F0; 9F0; 0F9; 0F9; 9REDUCE; 9REDUCE", stages=1) == []


def test_instances_are_what_may_stand_twice() -> None:
    made = frame("0F0; 0B0; 0R0; 0REDUCE; 0UNSHARD; 0RESHARD")

    assert duplicated(made).instances == 5


def test_what_read_withdrawn_weights_stands_again() -> None:
    again = "0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0F1; 0B1; 0STEP"

    assert twice(again, steps=2) == []
    assert twice(again.replace("0ROLLBACK; 0STEP", "0COMMIT"), steps=2) == ["r0.5"]
