"""Known schedules, generated: one file each, which states the order of one rank.

A module of this room has `NAME`, as the language writes it; `STAGES_PER_RANK`, or None where the
caller chooses; `PLACEMENT`, `loop` or `v`; and `order(shape, rank)`. It may have `OPTIONS`, and
`expected(shape)` where not every number of microbatches will do. Bubbles are not modelled.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from pipeproof.errors import Problem
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.transport import named
from pipeproof.schedules._columns import operations
from pipeproof.schedules._known import all_known, require, require_shape

__all__ = ["generate", "names"]

_PROFILE = "torch-runtime"
_TRANSPORTS = ("nccl-lazy", "nccl-first", "nccl-eager", "nccl-small", "gloo")


def names() -> tuple[str, ...]:
    """Return the names of the known schedules, in order."""
    return tuple(known.name for known in all_known())


def generate(  # noqa: PLR0913  what is asked for, all by name
    name: str,
    *,
    ranks: int,
    microbatches: int,
    stages_per_rank: int | None = None,
    options: Mapping[str, str] | None = None,
    limits: Mapping[str, int] | None = None,
) -> Schedule:
    """Return the known schedule `name`: its computations, without messages.

    Args:
        name: One of `names()`.
        ranks: The number of ranks, 1 or more.
        microbatches: Their number, 1 or more.
        stages_per_rank: What the schedule takes; where any number will do, 1 unless given.
        options: Values by the names of the schedule's own options.
        limits: Limits by name that are not the default; `ranks` and `instructions` apply.

    Raises:
        UsageError: there is no such schedule or option, or no such shape of it.
        LimitError: it exceeds a limit.
    """
    known = require(name)
    shape = require_shape(known, ranks, microbatches, stages_per_rank, options or {})
    reading = ReadOptions(limits=limits or MappingProxyType({}))
    _check_limit(name, reading, "ranks", ranks)
    _check_limit(name, reading, "instructions", shape.stages * microbatches)
    table = operations([known.order(shape, rank) for rank in range(ranks)])
    _check_limit(name, reading, "instructions", int(np.count_nonzero(table.member == 0)))
    return Schedule(
        table,
        ranks=ranks,
        stages=shape.stages,
        microbatches=microbatches,
        placement=known.place(shape),
        transports=tuple(each for word in _TRANSPORTS for each in named(word)),
        profile=_PROFILE,
        lowering="torch",
    )


def _check_limit(name: str, reading: ReadOptions, limit: str, count: int) -> None:
    if count > reading.limit(limit):
        raise reading.exceeded(Problem(name, 1, 1, f"the schedule has {count} {limit}", ""), limit)
