"""Targets by what their campaigns say of themselves, so that a store alone can be told."""

from collections.abc import Mapping

from pipeproof.campaign.targets.itself import Itself
from pipeproof.campaign.targets.target import Target
from pipeproof.campaign.task import Json

__all__ = ["target_named"]


def target_named(campaign: Mapping[str, Json]) -> Target:
    """Return the target of a campaign.

    Raises:
        ValueError: there is no such target.
    """
    match campaign.get("target"):
        case "self":
            return Itself.of(campaign)
        case "generator":
            from pipeproof.campaign.targets.generator import Grid  # noqa: PLC0415  when needed

            return Grid.of(campaign)
        case "schedule":
            from pipeproof.campaign.targets.schedule import Around  # noqa: PLC0415  when needed

            return Around.of(campaign)
        case other:
            message = f"no campaign has the target {other!r}"
            raise ValueError(message)
