from __future__ import annotations

import pytest

from pipeproof.execution.checkpoints.boundaries import by_steps, steps_of, undrained
from pipeproof.execution.checkpoints.state import CheckpointError
from pipeproof.execution.orders import Style
from tests.execution.checkpoints.saved import PIPELINE, TINY, model, moment, setting
from tests.semantics import made

OVER = made.text(
    "0F0; SEND F0.0 to=1; 0F1; SEND F0.1 to=1; RECV B1.0 from=1; 0B0; 0STEP; RECV B1.1 from=1; "
    "0B1; 0STEP",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0; 1STEP; RECV F0.1 from=0; 1F1; 1B1; "
    "SEND B1.1 to=0; 1STEP",
    steps=2,
    weights={"policy": "stash"},
    transport="buffered",
)
"""The first forward of the second step runs in the first: there is no boundary between them."""


@pytest.mark.parametrize("style", Style)
def test_steps_follow_one_another_and_make_up_a_whole_execution(style: Style) -> None:
    live = setting(PIPELINE).begin()
    steps = by_steps(live, model(PIPELINE).happens_before, style=style, seed=1)

    assert len(steps) == 2
    assert sorted(event for each in steps for event in each) == list(range(len(live.events)))
    for events in steps:
        live.play(events)
        assert not list(undrained(live))
    assert live.first is None
    assert live.differing is None


def test_a_step_ends_with_its_last_update() -> None:
    steps = steps_of(setting(TINY).begin())

    assert steps[:12].tolist() == [0] * 6 + [1] * 6


def test_every_moment_inside_a_step_is_undrained() -> None:
    live = setting(PIPELINE).begin()
    (first, _) = by_steps(live, model(PIPELINE).happens_before)
    told = set()
    for event in first[:-1]:
        live.play([event])
        said = list(undrained(live))
        assert said
        told |= {each.rpartition(" ")[0].rpartition(" ")[2] for each in said}

    live.play(first[-1:])
    assert not list(undrained(live))


def test_what_is_still_there_is_told() -> None:
    at = moment(TINY, 3)

    said = list(undrained(at.live()))

    assert "0B0 is under way" in said
    assert "microbatch 0 is under way" in said


def test_a_boundary_that_no_order_has_is_told() -> None:
    with pytest.raises(CheckpointError, match=r"no boundary after step 1: SEND F0.1 to=1 waits"):
        by_steps(setting(OVER).begin(), model(OVER).happens_before)


def test_an_event_that_waits_for_a_later_step_is_told() -> None:
    text = made.text(
        "0F0; RECV B1.0 from=1; 0B0; SEND F0.0 to=1; 0STEP; 0F1; SEND F0.1 to=1; "
        "RECV B1.1 from=1; 0B1; 0STEP",
        "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0; 1STEP; RECV F0.1 from=0; 1F1; 1B1; "
        "SEND B1.1 to=0; 1STEP",
        steps=2,
    )

    with pytest.raises(CheckpointError, match=r"no boundary after step 1: .* waits for"):
        by_steps(setting(text).begin(), model(text).happens_before)
