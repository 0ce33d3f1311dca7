"""Targets by what a store says of its campaign."""

import pytest

from pipeproof.campaign.targets.itself import Itself
from pipeproof.campaign.targets.named import target_named


def test_a_target_is_found_by_its_campaign() -> None:
    target = Itself(4, 5, 6)

    assert target_named(target.campaign) == target


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(ValueError, match="no campaign has the target 'moon'"):
        target_named({"target": "moon"})
