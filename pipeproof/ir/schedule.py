"""A schedule, as written: its operations and what its author says of the runtime."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from pipeproof.ir.actions import BACKWARDS
from pipeproof.ir.operations import IntArray, Operations
from pipeproof.ir.transport import Transport

__all__ = [
    "Gradients",
    "Lowering",
    "Plain",
    "Reduce",
    "Schedule",
    "Slots",
    "neighbours",
]

Plain = str | tuple["Plain", ...] | Mapping[str, "Plain"]
"""A value of a key that is validated now and judged later: text, list or mapping."""

Reduce = Literal["default", "required", "once", "none"]
Lowering = Literal[
    "as-written", "torch", "torch-deferred", "torch-multi", "torch-single", "just-in-time"
]
"""How messages come in: they stand in the file, or a computation order is lowered that way."""


class Slots(NamedTuple):
    """The slot of each row of a computation order, and how many slots each rank has."""

    of_row: IntArray
    widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gradients:
    """What is asked of gradients; `reduce` is judged, the rest is kept for later rules."""

    reduce: Reduce = "default"
    other: Mapping[str, Plain] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=False)
class Schedule:
    """One schedule: programs and what is assumed of the runtime that executes them.

    `placement` holds the rank of each stage, or is empty where the programs decide it. `steps`
    is None for any number. `described` holds keys of the file that other rules need (storage,
    weights, bounds, sizes, faults, choices), as written. `slots` says where the operations of a
    computation order stand, bubbles counted, where that is known.
    """

    operations: Operations
    ranks: int
    stages: int
    microbatches: int
    placement: tuple[int, ...] = ()
    steps: int | None = 1
    fragment: bool = False
    segments: int = 1
    pipelines: tuple[tuple[int, ...], ...] = ()
    transports: tuple[Transport, ...] = ()
    profile: str = "none"
    lowering: Lowering = "as-written"
    gradients: Gradients = field(default_factory=Gradients)
    described: Mapping[str, Plain] = field(default_factory=lambda: MappingProxyType({}))
    slots: Slots | None = None

    @property
    def ids_per_step(self) -> int:
        """How many microbatch ids a step has: a microbatch has one for each of its segments."""
        return self.microbatches * self.segments

    @cached_property
    def forward_only(self) -> bool:
        """Whether no backward stands in the schedule, so that none is asked for."""
        return not bool(np.any(self.operations.is_kind(*BACKWARDS)))

    @cached_property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """The pipelines: each a list of stages; all stages in one unless several are given."""
        return self.pipelines or (tuple(range(self.stages)),)


def neighbours(schedule: Schedule) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the stage before and the stage after each stage; -1 at the ends of a pipeline."""
    before, after = [-1] * schedule.stages, [-1] * schedule.stages
    for line in schedule.lines:
        for left, right in pairwise(line):
            before[right], after[left] = left, right
    return tuple(before), tuple(after)
