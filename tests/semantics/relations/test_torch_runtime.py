"""What torch's runtime asks beyond order."""

import pytest

from pipeproof.semantics.relations.torch_runtime import given_away, losses_elsewhere
from tests.semantics.made import frame, places

TORCH: dict[str, object] = {"profile": "torch-runtime"}


def test_other_profiles_ask_for_nothing() -> None:
    made = frame("0F0; 0B0; 0SEND_F0; 0SEND_F0", "1F1; 1F0; 1B0", microbatches=2)

    assert (given_away(made).instances, losses_elsewhere(made).instances) == (0, 0)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0F0; 0SEND_F0; 0B0", list[str]()),
        ("0F0; 0B0; 0SEND_F0", ["r0.2"]),
        ("0F0; 0I0; 0SEND_F0", ["r0.2"]),
        ("0F0; 0SEND_F0; 0SEND_F0", list[str]()),
        ("0F0; 0B1; 0SEND_F0", list[str]()),
        ("0F0; 0B0; SEND F0.0 to=1", ["r0.2"]),
    ],
)
def test_an_activation_is_sent_before_its_backward_takes_it(program: str, found: list[str]) -> None:
    made = frame(program, "", microbatches=2, stages=2, **TORCH)

    assert places(made, given_away(made)) == found


def test_a_gradient_is_sent_once() -> None:
    made = frame("", "1B0; 1SEND_B0; 1B1; 1SEND_B1; 1SEND_B0", microbatches=2, stages=2, **TORCH)
    found = given_away(made)

    assert (found.instances, places(made, found)) == (3, ["r1.4"])
    assert found.found[0].facts["why"] == "sends a gradient that an earlier send gave away"


def test_a_send_after_its_backward_says_what_took_the_activation() -> None:
    made = frame("0F0; 0B0; 0SEND_F0", "", stages=2, **TORCH)

    assert given_away(made).found[0].facts["why"] == "sends what 0B0 took"


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("1F0; 1F1; 1B0; 1B1", list[str]()),
        ("1F0; 1F1; 1B1; 1B0", list[str]()),
        ("1F1; 1F0; 1B0; 1B1", ["r1.2", "r1.3"]),
        ("1F1; 1B1; 1F0; 1B0", ["r1.1", "r1.3"]),
        ("1F1; 1F0; 1I1; 1I0; 1W1", ["r1.2", "r1.3"]),
        ("1B0; 1F0", list[str]()),
    ],
)
def test_losses_are_taken_by_id_from_a_list_in_order_of_the_forwards(
    program: str, found: list[str]
) -> None:
    made = frame("", program, microbatches=2, stages=2, placement=[0, 1], **TORCH)

    assert places(made, losses_elsewhere(made)) == found


def test_a_backward_says_what_the_list_holds_in_its_place() -> None:
    made = frame("0F1; 0B1; 0F0; 0B0", microbatches=2, **TORCH)

    assert [dict(each.facts) for each in losses_elsewhere(made).found] == [
        {"op": "0B1", "why": "takes entry 1 of the losses, which holds nothing"},
        {
            "op": "0B0",
            "why": "takes entry 0 of the losses, which holds that of microbatch 1",
        },
    ]


def test_each_step_has_a_list_of_its_own() -> None:
    made = frame("0F0; 0B0; 0F1; 0B1", steps=2, **TORCH)

    assert (losses_elsewhere(made).instances, places(made, losses_elsewhere(made))) == (2, [])


def test_each_pipeline_has_a_last_stage_of_its_own() -> None:
    keys = {"microbatches": 2, "stages": 4, "pipelines": [[0, 1], [3, 2]], **TORCH}
    made = frame("0F0; 1F0; 1B0; 3F1; 2F1; 2B1", **keys)

    assert places(made, losses_elsewhere(made)) == ["r0.5"]
