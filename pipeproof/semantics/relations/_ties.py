"""Which stages hold copies of one parameter, and which of their TIEs meet."""

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._windows import param_of

__all__ = ["Copies", "meeting_ties", "named_ranks", "owners", "tied"]


class Copies(NamedTuple):
    """Stages that share a parameter: `listed` under `tied`, else all of theirs (pipelines).

    `ranks` are those that a TIE of all of them names.
    """

    stages: tuple[int, ...]
    listed: bool
    ranks: frozenset[int]


def tied(frame: Frame) -> tuple[Copies, ...]:
    """Return the copies that must be tied: those listed, and stages at one place of pipelines.

    The latter only where a STEP or a TIE of one of them stands.
    """
    schedule, home = frame.run.schedule, frame.run.placement
    said = schedule.gradients.other.get("tied", ())
    lists = [line for line in said if isinstance(line, tuple)] if isinstance(said, tuple) else []
    found = [
        (tuple(sorted({int(stage) for stage in line if isinstance(stage, str)})), True)
        for line in lists
    ]
    used = set(frame.ops.stage[frame.ops.is_kind(Kind.STEP, Kind.TIE)].tolist())
    if len(schedule.lines) > 1:
        for place in zip_longest(*schedule.lines):
            stages = tuple(sorted(stage for stage in place if stage is not None))
            if used & set(stages):
                found.append((stages, False))
    return tuple(
        Copies(stages, listed, frozenset(home[stage] for stage in stages))
        for stages, listed in found
        if len(stages) > 1
    )


def named_ranks(frame: Frame, row: int) -> frozenset[int]:
    """Return the ranks that a NORM or TIE names."""
    said = frame.ops.attributes.get(row, {}).get("ranks", "")
    return frozenset(int(rank) for rank in said.split(",") if rank)


def meeting_ties(frame: Frame, rows: IntArray) -> Mapping[int, tuple[int, ...]]:
    """Return for each TIE among `rows` all that meet in it, itself among them.

    The k-th TIE of a stage with its parameter and ranks meets the k-th of each copy. Stages that
    nothing says to be tied are taken for copies of each other where they meet.
    """
    ops = frame.ops
    count: dict[tuple[object, ...], int] = {}
    entries: dict[tuple[object, ...], list[int]] = {}
    owner = owners(frame)
    for row in rows[ops.kind[rows] == Kind.TIE].tolist():
        stage, name = int(ops.stage[row]), param_of(frame, row)
        key = (owner(stage, name), name, tuple(sorted(named_ranks(frame, row))))
        turn = count[stage, *key] = count.get((stage, *key), 0) + 1
        entries.setdefault((*key, turn), []).append(row)
    return {row: tuple(met) for met in entries.values() for row in met}


class _Owners:
    """Which copies a TIE of a stage is over, as a number; -1 where nothing says it."""

    def __init__(self, copies: tuple[Copies, ...], stages: int) -> None:
        self.joined = np.arange(max(stages, 1))
        self.whole = dict[int, int]()
        for number, each in enumerate(copies):
            for stage in each.stages:
                self.joined[self.joined == self.joined[stage]] = self.joined[each.stages[0]]
                if not each.listed:
                    self.whole[stage] = stages + number
        self.known = {stage for each in copies for stage in each.stages}

    def __call__(self, stage: int, name: str) -> int:
        if stage not in self.known:
            return -1
        return self.whole.get(stage, int(self.joined[stage])) if not name else self.joined[stage]


def owners(frame: Frame) -> Callable[[int, str], int]:
    """Return which copies a TIE of a stage and parameter is over, -1 where nothing says it."""
    return _Owners(tied(frame), frame.run.schedule.stages)
