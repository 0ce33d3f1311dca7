"""The order of one rank: its computations one after another, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import counted

__all__ = ["Order", "Shape", "Step", "Steps", "backwards_descend", "in_turn", "overlap", "repeat"]

Steps = IntArray
"""Steps one after another, shape `(rows, 3)`: kind, stage, and whether it overlaps."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a known schedule is asked for; `options` holds every option of the schedule."""

    ranks: int
    microbatches: int
    stages_per_rank: int
    options: Mapping[str, str]

    @property
    def stages(self) -> int:
        """The number of stages."""
        return self.ranks * self.stages_per_rank


class Step(NamedTuple):
    """One computation before its microbatch is known; `joined` to the one before: an overlap."""

    kind: Kind
    stage: int
    joined: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The computations of one rank in their order, each column of shape `(rows,)`.

    A row that is `joined` shares its position with the row before it.
    """

    kind: IntArray
    stage: IntArray
    microbatch: IntArray
    joined: npt.NDArray[np.bool_]

    def only(self, rows: npt.NDArray[np.bool_]) -> "Order":
        """Return the order of `rows` alone."""
        return Order(self.kind[rows], self.stage[rows], self.microbatch[rows], self.joined[rows])


def overlap(forward: Step, backward: Step) -> tuple[Step, Step]:
    """Return the steps of an overlap `(forward;backward)`."""
    return forward, backward._replace(joined=True)


def repeat(times: int, *steps: Step) -> Steps:
    """Return `steps`, all of them `times` over."""
    return np.tile(np.array(steps, np.int64).reshape(-1, 3), (times, 1))


def in_turn(*phases: Steps) -> Order:
    """Return the order of `phases` one after another, microbatches ascending.

    Each step takes the next microbatch of its stage: one count is kept for `F`, one for `W`, and
    one for `B` and `I` together.
    """
    kind, stage, joined = np.concatenate(phases).T
    counter = np.where(kind == Kind.I, Kind.B, kind)
    return Order(kind, stage, _occurrence(stage * len(Kind) + counter), joined.astype(np.bool_))


def backwards_descend(order: Order, microbatches: int) -> Order:
    """Return `order` with the backwards from the last microbatch down to the first."""
    down = microbatches - 1 - order.microbatch
    return replace(order, microbatch=np.where(order.kind == Kind.B, down, order.microbatch))


def _occurrence(keys: IntArray) -> IntArray:
    """Return how many equal keys stand before each, shape `(rows,)`."""
    _, counts = counted(keys)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    number = np.empty(len(keys), np.int64)
    number[np.argsort(keys, kind="stable")] = np.arange(len(keys)) - first
    return number
