"""Known schedules as models, with costs of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pipeproof.ir.transport import NAMED, Queue, Transport
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.schedules import generate
from pipeproof.semantics.model import Model

if TYPE_CHECKING:
    from pipeproof.ir.schedule import Plain

FREE = replace(NAMED["gloo"], name="free", queue=Queue.NONE)
"""Sends are copied, receives are waited for where they are used, nothing queues."""

NAMES = ("gpipe", "1f1b", "interleaved_1f1b", "looped_bfs", "zbv", "interleaved_zero_bubble")
"""Known schedules that a grid of any size has, with two stages a rank but for the first two."""


def known(
    name: str,
    ranks: int,
    microbatches: int,
    costs: Mapping[str, str | Sequence[str]] | None = None,
    transport: Transport = FREE,
) -> Model:
    """The model of a known schedule, lowered as torch does."""
    schedule = generate(
        name,
        ranks=ranks,
        microbatches=microbatches,
        stages_per_rank=None if name in {"gpipe", "1f1b", "dualpipev"} else 2,
        options={},
        limits={},
    )
    described: dict[str, Plain] = dict(schedule.described)
    if costs is not None:
        plain: dict[str, Plain] = {
            kind: each if isinstance(each, str) else tuple(each) for kind, each in costs.items()
        }
        described["costs"] = MappingProxyType(plain)
    run = lower(replace(schedule, described=MappingProxyType(described)))
    return Model(run, transport, write_in(run, transport.wait))
