from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from pipeproof.execution._memory import Memory
from pipeproof.execution.checkpoints.restart import taken_up
from pipeproof.execution.checkpoints.state import DRAINED, Part, tables_of, unequal
from tests.execution.checkpoints.saved import PIPELINE, TINY, held, moment, setting

if TYPE_CHECKING:
    import torch


def test_each_rank_holds_what_stands_on_it_and_no_more() -> None:
    first, second = moment(PIPELINE, 40).parts()

    assert first.about["rank"] == 0
    assert second.about["rank"] == 1
    assert unequal(first, second)
    assert len(str(first.versions)) < len(str(moment(PIPELINE, 40).parts())) / 2


def test_a_part_shares_no_memory_with_the_execution() -> None:
    at = moment(PIPELINE, 40)
    live = at.live()
    before = held(live, at.setting)
    digests = [part.digest for part in before]

    live.play(at.order[at.cut :])

    assert [part.digest for part in before] == digests


def test_parts_of_one_moment_are_equal_and_of_two_are_not() -> None:
    one, other = moment(TINY, 4).parts(), moment(TINY, 5).parts()

    assert not unequal(one[0], moment(TINY, 4).parts()[0])
    assert "events.happened" in unequal(one[0], other[0])


def test_the_order_of_updates_and_the_position_in_the_data_are_told() -> None:
    whole = moment(TINY, 0).order
    (part,) = moment(TINY, len(whole)).parts()

    assert part.data["microbatches"] == [0, 1]
    assert part.updates["rows"] == [2, 5]


@pytest.mark.parametrize("field", ["memory", "computed"])
def test_a_drained_part_leaves_out_what_is_there_between_boundaries(field: str) -> None:
    at = moment(TINY, 6)

    (part,) = held(at.live(), at.setting, DRAINED)

    assert not getattr(part, field)


def test_every_attribute_of_an_execution_is_in_a_field() -> None:
    at = setting(TINY)
    tables = tables_of(at.begin())

    assert set(tables) <= {each.name for each in fields(Part)}
    assert {f: tuple(names) for f, names in tables.items()} == at.names


def test_an_attribute_that_no_checkpoint_has_a_form_for_is_refused() -> None:
    at = moment(TINY, 4)
    live = at.live()
    vars(live.memory)["cells"] = {(0, 0): object()}

    with pytest.raises(TypeError, match="no form for object"):
        held(live, at.setting)


def test_an_attribute_that_is_added_is_kept_by_every_rank_and_taken_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begins = Memory.__init__

    def with_more(self: Memory, dtype: torch.dtype) -> None:
        begins(self, dtype)
        vars(self)["added"] = 5

    monkeypatch.setattr(Memory, "__init__", with_more)
    at = setting(PIPELINE)
    live = at.begin()
    vars(live.memory)["added"] = 6
    parts = held(live, at)

    assert all("added" in part.memory for part in parts)
    assert vars(taken_up(at, parts).memory)["added"] == 6
