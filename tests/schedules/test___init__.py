from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pipeproof.errors import LimitError, UsageError
from pipeproof.ir.schedule import Schedule
from pipeproof.schedules import generate, names

ALL = (
    *("1f1b", "dualpipev", "forward_only", "gpipe", "interleaved_1f1b"),
    *("interleaved_zero_bubble", "looped_bfs", "zbv"),
)


def smallest(name: str, ranks: int = 3) -> Schedule:
    return generate(name, ranks=ranks, microbatches=2 * ranks)


def problems(name: str, **asked: Any) -> list[str]:
    shape = {"ranks": 2, "microbatches": 4} | asked
    with pytest.raises(UsageError) as caught:
        generate(name, **shape)
    return [str(problem) for problem in caught.value.problems]


def test_names_are_those_of_the_language() -> None:
    assert names() == ALL


@pytest.mark.parametrize("name", ALL)
def test_a_schedule_says_what_is_assumed_of_torch(name: str) -> None:
    schedule = smallest(name)

    assert schedule.profile == "torch-runtime"
    assert schedule.lowering == "torch"
    assert [transport.name for transport in schedule.transports] == (
        ["nccl-lazy", "nccl-first", "nccl-eager", "nccl-small", "gloo"]
    )
    assert (schedule.ranks, schedule.microbatches) == (3, 6)
    assert schedule.operations.torch_words


@pytest.mark.parametrize("name", ALL)
def test_every_operation_stands_on_the_rank_of_its_stage(name: str) -> None:
    schedule = smallest(name)
    placement = np.array(schedule.placement)

    assert len(placement) == schedule.stages
    assert np.array_equal(placement[schedule.operations.stage], schedule.operations.rank)


@pytest.mark.parametrize("name", ALL)
def test_no_column_can_be_written_to(name: str) -> None:
    operations = smallest(name).operations

    for column in ("rank", "position", "member", "kind", "stage", "microbatch", "bracket"):
        assert getattr(operations, column).dtype == np.int64
        assert not getattr(operations, column).flags.writeable


@pytest.mark.parametrize("name", ALL)
def test_one_rank_and_few_microbatches_will_do(name: str) -> None:
    assert smallest(name, ranks=1).stages == (2 if name in ("zbv", "dualpipev") else 1)


def test_a_name_that_is_none_is_refused_with_the_closest() -> None:
    (said,) = problems("zbb")

    assert said.startswith("zbb:1:1: 'zbb' is no known schedule; write one of 1f1b, ")
    assert said.endswith(", did you mean 'zbv'?")


def test_the_closest_name_is_found_in_any_case() -> None:
    assert problems("LoopedBFS")[0].endswith(", did you mean 'looped_bfs'?")


def test_a_name_is_shown_without_control_characters() -> None:
    assert problems("a\nb")[0].startswith("a\\x0ab:1:1: 'a\\x0ab' is no known schedule")


@pytest.mark.parametrize(("name", "takes"), [("1f1b", 1), ("gpipe", 1), ("zbv", 2)])
def test_another_number_of_stages_a_rank_is_refused(name: str, takes: int) -> None:
    said = f"{name}:1:1: 3 stages a rank; {name} takes {takes}"

    assert problems(name, stages_per_rank=3) == [said]
    assert generate(name, ranks=2, microbatches=4, stages_per_rank=takes).stages == 2 * takes


def test_every_number_that_is_too_low_is_named() -> None:
    assert problems("looped_bfs", ranks=0, microbatches=-1, stages_per_rank=0) == [
        "looped_bfs:1:1: 0 ranks; write 1 or more",
        "looped_bfs:1:1: -1 microbatches; write 1 or more",
        "looped_bfs:1:1: 0 stages a rank; write 1 or more",
    ]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("1f1b", {"backward": "descending"}, "'backward' is no option of 1f1b; it has none"),
        (
            "gpipe",
            {"backwards": "descending"},
            "'backwards' is no option of gpipe; write one of backward, did you mean 'backward'?",
        ),
        (
            "gpipe",
            {"backward": "descend"},
            "'descend' is no value of 'backward'; write ascending or descending, "
            "did you mean 'descending'?",
        ),
    ],
)
def test_an_option_that_is_none_is_refused(
    name: str, options: Mapping[str, str], said: str
) -> None:
    assert problems(name, options=options) == [f"{name}:1:1: {said}"]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"ranks": 1}, "the schedule has 2 ranks; at most 1 (limit 'ranks': --limit ranks=N)"),
        ({"instructions": 7}, "the schedule has 8 instructions; at most 7"),
        ({"instructions": 15}, "the schedule has 16 instructions; at most 15"),
    ],
)
def test_a_schedule_beyond_a_limit_is_refused(limits: Mapping[str, int], said: str) -> None:
    with pytest.raises(LimitError) as caught:
        generate("gpipe", ranks=2, microbatches=4, limits=limits)

    assert str(caught.value).startswith(f"gpipe:1:1: {said}")


def test_a_schedule_beyond_the_default_limit_is_refused_before_it_is_made() -> None:
    with pytest.raises(LimitError):
        generate("zbv", ranks=2, microbatches=10**12)


def test_stages_are_as_many_as_a_value_can_name() -> None:
    (said,) = problems("looped_bfs", stages_per_rank=2**23 + 1)

    assert said == "looped_bfs:1:1: 16777218 stages; there are at most 16777216"


@pytest.mark.slow
def test_a_large_schedule_is_made_in_no_time() -> None:
    schedule = generate("interleaved_1f1b", ranks=64, microbatches=1024, stages_per_rank=2)

    assert len(schedule.operations) == 262_144
