"""A known schedule as a document, of what the options of a command say."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from pipeproof.frontends._profiles import require_profile, transports_of
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate

__all__ = ["known"]


def known(
    name: str,
    ranks: int,
    stages_per_rank: int | None,
    own: Mapping[str, str],
    options: ReadOptions,
) -> Document:
    """Return the known schedule `name`, for `microbatches` of `options`.

    Raises:
        InputError: there is no such schedule, or not of that shape, or it exceeds a limit.
        UnsupportedFeatureError: the profile asked for is one that this version does not model.
    """
    schedule = generate(
        name,
        ranks=ranks,
        microbatches=options.microbatches or 1,
        stages_per_rank=stages_per_rank,
        options=own,
        limits=options.limits,
    )
    if options.profile is not None:
        profile = require_profile(options.profile)
        schedule = replace(schedule, profile=profile, transports=transports_of(profile))
    if options.lowering is not None:
        schedule = replace(schedule, lowering=options.lowering)
    per_rank = {} if stages_per_rank is None else {"stages_per_rank": str(stages_per_rank)}
    again = {"name": name, "ranks": str(ranks), **per_rank, **own}
    origin = MappingProxyType({"schedule": MappingProxyType(again)})
    return Document(name, schedule, OnePlace(), origin=origin)
