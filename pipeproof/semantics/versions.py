"""Which versions of the weights operations read: derived from the programs, in one table.

A *weight* is one parameter of a stage: all of the stage where no STEP names one. Every weight
starts at version 0 and a STEP makes the next. All reads are decided by the order of the program
of the stage's rank.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray, read_only
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics._following import (
    ENDS,
    follow,
    followed_stages,
    ints,
    joined,
    parameters,
)
from pipeproof.semantics._reads import READERS, Plain, Reads, at_home, identified, plain_reads
from pipeproof.semantics._weights import Followed, Ledger
from pipeproof.semantics._withdrawn import spread

__all__ = ["READERS", "Reads", "Versions", "identified", "versions_of"]

_Flags = npt.NDArray[np.bool_]


class Ends(NamedTuple):
    """Where contributions are taken: STEPs and SKIPs that count, by weight and then row."""

    weights: IntArray
    rows: IntArray


@dataclass(frozen=True, slots=False, eq=False)
class Versions:
    """Every version of every weight, and who reads it.

    By weight: its `stage` and parameter (`names`; empty for what no STEP names). By version: its
    `weight`, `number`, the row that `made` it (-1 for the first), the row that `settled` it
    (`made` where it is committed at once), and whether it is `withdrawn` or `absent` (named by
    an operation while there is no such version). The version of index w is the first of weight w.
    `empty` are the rows that read a cache which was never filled. `changes` are (weight, row,
    version): what becomes current by which row. `lost` are (weight, STEP) that are withdrawn. It is
    `plain` if every operation reads what is current.
    """

    run: AsRun
    stage: IntArray
    names: tuple[str, ...]
    weight: IntArray
    number: IntArray
    made: IntArray
    settled: IntArray
    withdrawn: _Flags
    absent: _Flags
    reads: Reads
    empty: IntArray
    changes: tuple[IntArray, IntArray, IntArray]
    lost: tuple[IntArray, IntArray]
    plain: bool

    @property
    def still(self) -> bool:
        """Whether every read is of a first version, and none of an empty cache."""
        return not len(self.empty) and not bool(np.any(self.reads.versions >= len(self.stage)))

    @property
    def matters(self) -> bool:
        """Whether weights change, are copied, or are spoken of."""
        spoken = "weights" in self.run.schedule.described
        return spoken or len(self.number) > len(self.stage) or not self.plain

    @cached_property
    def uncounted(self) -> IntArray:
        """The rows that do not count and must stand again: they read a withdrawn version.

        Forwards and losses of later stages are among them that work on what such a forward made.
        """
        if not np.any(self.withdrawn):
            return np.zeros(0, np.int64)
        return spread(self.run, distinct(self.reads.rows[self.withdrawn[self.reads.versions]]))

    @cached_property
    def weights_of_stage(self) -> IntArray:
        """The first weight of each stage and, last, their number, shape `(stages + 1,)`."""
        return read_only(np.searchsorted(self.stage, np.arange(self.run.schedule.stages + 1)))

    @cached_property
    def _changes(self) -> tuple[IntArray, IntArray]:
        weight, row, version = self.changes
        weights = np.arange(len(self.stage))
        keys = np.concatenate((weights * self._size, weight * self._size + row + 1))
        order = np.argsort(keys, kind="stable")
        return keys[order], np.concatenate((weights, version))[order]

    @cached_property
    def ends(self) -> Ends:
        """The STEPs and SKIPs of the first copy that count, for each weight that they are about."""
        ops, run = self.run.operations, self.run
        rows = np.flatnonzero(ops.is_kind(*ENDS) & at_home(run) & (run.copy == 0))
        first = self.weights_of_stage
        plain = rows[np.diff(first)[ops.stage[rows]] == 1]
        weights, at = [first[ops.stage[plain]]], [plain]
        for row in rows[np.diff(first)[ops.stage[rows]] > 1].tolist():
            own = self._concerned(row)
            weights.append(np.asarray(own, np.int64))
            at.append(np.full(len(own), row, np.int64))
        weight, row_of = np.concatenate(weights), np.concatenate(at)
        keys = weight * self._size + row_of
        keys = np.sort(keys[~among(keys, self.lost[0] * self._size + self.lost[1])])
        return Ends(keys // self._size, keys % self._size)

    @cached_property
    def adds(self) -> tuple[IntArray, IntArray]:
        """The contributions of the first copy that count: rows of B and W, and their weights."""
        ops, run = self.run.operations, self.run
        rows = np.flatnonzero(ops.is_kind(Kind.B, Kind.W) & identified(run) & (run.copy == 0))
        rows = rows[~among(rows, self.uncounted)]
        first = self.weights_of_stage
        single = np.diff(first)[ops.stage[rows]] == 1
        pairs = [(rows[single], first[ops.stage[rows[single]]])]
        for row in rows[~single].tolist():
            own = self._concerned(row)
            pairs.append((np.full(len(own), row, np.int64), np.asarray(own, np.int64)))
        both = (np.concatenate([each[side] for each in pairs]) for side in (0, 1))
        found, weights = both
        order = np.argsort(found, kind="stable")
        return found[order], weights[order]

    def _concerned(self, row: int) -> list[int]:
        """Return the weights that a row is about: those of its `param`, or all of its stage."""
        ops, first = self.run.operations, self.weights_of_stage
        stage = int(ops.stage[row])
        own = range(int(first[stage]), int(first[stage + 1]))
        name = ops.attributes.get(row, {}).get("param")
        if name is None:
            return list(own)
        named = [weight for weight in own if self.names[weight] == name]
        return named or [weight for weight in own if not self.names[weight]]

    @property
    def _size(self) -> int:
        return len(self.run.operations) + 2

    def current(self, weights: IntArray, rows: IntArray) -> IntArray:
        """Return the version of each weight that is current just before a row."""
        keys, versions = self._changes
        at = np.searchsorted(keys, weights * self._size + rows + 1) - 1
        return np.asarray(versions[at])

    def at_end(self, weights: IntArray) -> IntArray:
        """Return the version of each weight that is current at the end of the first copy."""
        run = self.run
        ends = np.zeros(max(run.schedule.ranks, 1), np.int64)
        own = np.flatnonzero(run.copy == 0)
        ends[run.operations.rank[own]] = own + 1
        home = np.asarray(run.placement)
        return self.current(weights, ends[home[self.stage[weights]]])

    def told(self, row: int) -> int | None:
        """Return the number of the version that a row reads, or else that is current there.

        None where it reads none, or several.
        """
        ops, stage = self.run.operations, int(self.run.operations.stage[row])
        if not 0 <= stage < self.run.schedule.stages:
            return None
        low, high = np.searchsorted(self.reads.rows, (row, row + 1)).tolist()
        home = self.run.placement[stage] == ops.rank[row]
        known = home and 0 <= ops.microbatch[row] < self.run.microbatches
        if low < high or (known and ops.kind[row] in READERS):
            read = distinct(self.number[self.reads.versions[low:high]])
            return int(read[0]) if len(read) == 1 else None
        if not home:
            return 0
        own = np.arange(self.weights_of_stage[stage], self.weights_of_stage[stage + 1])
        return int(np.max(self.number[self.current(own, np.full(len(own), row))]))


def versions_of(run: AsRun) -> Versions:
    """Return which versions the operations of `run` read."""
    chosen = followed_stages(run)
    names = parameters(run, chosen)
    counts = np.ones(run.schedule.stages, np.int64)
    for stage, own in names.items():
        counts[stage] = len(own)
    first = np.concatenate(([0], np.cumsum(counts)))
    plain, rows = _plain(run, chosen, first)
    ledger = Ledger(plain.base + len(plain.steps))
    reads, named = plain_reads(run, rows, plain, ledger)
    followed = follow(run, chosen, names, first, ledger) if chosen.any() else []
    start, none = np.full(plain.base, -1, np.int64), np.zeros(ledger.base, np.bool_)
    return Versions(
        run=run,
        stage=np.repeat(np.arange(run.schedule.stages), counts),
        names=tuple(_flat_names(names, counts)) if names else ("",) * plain.base,
        weight=np.concatenate((np.arange(plain.base), plain.owner, ints(ledger.weight))),
        number=np.concatenate((start + 1, plain.numbers, ints(ledger.number))),
        made=np.concatenate((start, plain.steps, ints(ledger.made))),
        settled=np.concatenate((start, plain.steps, ints(ledger.settled))),
        withdrawn=np.concatenate((none, np.asarray(ledger.withdrawn, np.bool_))),
        absent=np.concatenate((none, np.asarray(ledger.absent, np.bool_))),
        reads=joined(reads, followed),
        empty=ints(sorted(row for each in followed for row in each.empty)),
        changes=_changes(plain, followed),
        lost=_lost(followed),
        plain=not followed and not named,
    )


def _plain(run: AsRun, chosen: _Flags, first: IntArray) -> tuple[Plain, IntArray]:
    """Return the STEPs of the stages that need not be followed, and what reads their weights."""
    ops = run.operations
    steps = np.flatnonzero(ops.is_kind(Kind.STEP) & at_home(run))
    rows = np.flatnonzero(ops.is_kind(*READERS) & identified(run))
    if chosen.any():
        steps, rows = steps[~chosen[ops.stage[steps]]], rows[~chosen[ops.stage[rows]]]
    steps = steps[np.argsort(ops.stage[steps], kind="stable")]
    return Plain(steps, first[ops.stage[steps]], int(first[-1]), first), rows


def _changes(plain: Plain, followed: list[Followed]) -> tuple[IntArray, IntArray, IntArray]:
    weights, rows, versions = (
        ints([change[side] for each in followed for change in each.changes]) for side in range(3)
    )
    return (
        np.concatenate((plain.owner, weights)),
        np.concatenate((plain.steps, rows)),
        np.concatenate((np.arange(len(plain.steps)) + plain.base, versions)),
    )


def _lost(followed: list[Followed]) -> tuple[IntArray, IntArray]:
    pairs = [pair for each in followed for pair in each.lost]
    return ints([weight for weight, _ in pairs]), ints([row for _, row in pairs])


def _flat_names(names: Mapping[int, tuple[str, ...]], counts: IntArray) -> list[str]:
    return [name for stage in range(len(counts)) for name in names.get(stage, ("",))]
