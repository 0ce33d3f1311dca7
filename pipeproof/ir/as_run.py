"""A schedule, as run: every message with its value and both ends, every wait in its place."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.faults import Faulted
from pipeproof.ir.operations import IntArray, Operations, read_only
from pipeproof.ir.ready import Ready
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.storage import Stored

__all__ = ["AsRun", "Waits"]


@dataclass(frozen=True, slots=False, eq=False)
class AsRun:
    """A schedule with its messages resolved, and `copies` of its programs one after the other.

    Torch's `3SEND_F1` has become `SEND F3.1 to=<rank>`; one whose stage has no such neighbour
    stays as it was written. `placement` holds the rank of each stage.

    `spelled` is one copy with its messages short, as torch writes them; `base` maps a row to its
    row there, `copy` says in which copy it stands. `written` maps a row to the row as written
    that it is or whose place it takes, `added` marks what lowering added. `refused` says why the
    framework that lowers it refuses the schedule. `turns` orders the rows over all ranks as they
    were lowered, where that is known; nothing rests on it. `storage` holds the accesses of
    storage that has a name or is a slot, None where there is none. `settled` says that this is one
    outcome of the choices that stand in the schedule. `faults` says what goes wrong in it. `ready`
    says what ready ranks waited for, in the order in which they picked.
    """

    schedule: Schedule
    operations: Operations
    placement: tuple[int, ...]
    copies: int
    spelled: Operations
    base: IntArray
    written: IntArray
    added: npt.NDArray[np.bool_]
    copy: IntArray
    refused: str | None = None
    turns: IntArray | None = None
    storage: Stored | None = None
    settled: bool = False
    ready: Ready | None = None
    faults: Faulted | None = None

    @property
    def microbatches(self) -> int:
        """How many microbatch ids exist, over all steps."""
        return self.schedule.ids_per_step * max(self.schedule.steps or 1, self.copies)

    @cached_property
    def is_message(self) -> npt.NDArray[np.bool_]:
        """Which rows are messages whose two ends exist, shape `(rows,)`."""
        ops = self.operations
        valid = (ops.peer >= 0) & (ops.peer < self.schedule.ranks)
        return np.asarray(ops.is_kind(Kind.SEND, Kind.RECV) & valid)

    @cached_property
    def rank_start(self) -> IntArray:
        """The first instruction of each rank and, last, their number, shape `(ranks + 1,)`."""
        ranks = self.operations.rank[self.operations.first_row]
        return read_only(np.searchsorted(ranks, np.arange(self.schedule.ranks + 1)))


class Waits(NamedTuple):
    """Which instruction waits for which row: `rows[k]` completes before `moments[k]`.

    A moment is `2 i` for the start of instruction i, `2 i + 1` for its end, and
    `2 instructions + rank` for the end of a rank's program.
    """

    rows: IntArray
    moments: IntArray
