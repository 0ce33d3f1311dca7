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
from pipeproof.ir.operations import IntArray, Operations, read_only
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics._weights import Followed, Ledger

__all__ = ["READERS", "Reads", "Versions", "identified", "versions_of"]

READERS = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R)
_ENDS = (Kind.STEP, Kind.SKIP)
_MOVES = (Kind.STEP, Kind.COMMIT, Kind.ROLLBACK, Kind.GATHER)
_Flags = npt.NDArray[np.bool_]


class Reads(NamedTuple):
    """What is read: row `rows[k]` reads `versions[k]`, both shape `(n,)`.

    Rows ascend. A row stands more than once where it reads several weights, or a weight of which
    it reads several versions.
    """

    rows: IntArray
    versions: IntArray


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
    version): what becomes current by which row. `special` marks stages whose reads are not just
    what is current.
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
    lost: IntArray
    special: _Flags

    @property
    def still(self) -> bool:
        """Whether every read is of a first version, and none of an empty cache."""
        return not len(self.empty) and not bool(np.any(self.reads.versions >= len(self.stage)))

    @property
    def matters(self) -> bool:
        """Whether weights change, are copied, or are spoken of."""
        spoken = "weights" in self.run.schedule.described
        return spoken or len(self.number) > len(self.stage) or bool(np.any(self.special))

    @cached_property
    def uncounted(self) -> IntArray:
        """The rows that read a withdrawn version: they do not count and must stand again."""
        if not np.any(self.withdrawn):
            return np.zeros(0, np.int64)
        return distinct(self.reads.rows[self.withdrawn[self.reads.versions]])

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
        rows = np.flatnonzero(ops.is_kind(*_ENDS) & _at_home(run) & (run.copy == 0))
        rows = rows[~among(rows, self.lost)]
        first = self.weights_of_stage
        plain = rows[np.diff(first)[ops.stage[rows]] == 1]
        weights, at = [first[ops.stage[plain]]], [plain]
        for row in rows[np.diff(first)[ops.stage[rows]] > 1].tolist():
            own = self._concerned(row)
            weights.append(np.asarray(own, np.int64))
            at.append(np.full(len(own), row, np.int64))
        weight, row_of = np.concatenate(weights), np.concatenate(at)
        order = np.lexsort((row_of, weight))
        return Ends(weight[order], row_of[order])

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
        if low < high or (ops.kind[row] in READERS and self.special[stage]):
            read = distinct(self.number[self.reads.versions[low:high]])
            return int(read[0]) if len(read) == 1 else None
        if self.run.placement[stage] != ops.rank[row]:
            return 0
        own = np.arange(self.weights_of_stage[stage], self.weights_of_stage[stage + 1])
        return int(np.max(self.number[self.current(own, np.full(len(own), row))]))


def versions_of(run: AsRun) -> Versions:
    """Return which versions the operations of `run` read."""
    ops = run.operations
    special = _special(run)
    names = _names(run, special)
    counts = np.ones(run.schedule.stages, np.int64)
    for stage, own in names.items():
        counts[stage] = len(own)
    first = np.concatenate(([0], np.cumsum(counts)))
    total = int(first[-1])
    steps = np.flatnonzero(ops.is_kind(Kind.STEP) & _at_home(run))
    rows = np.flatnonzero(ops.is_kind(*READERS) & identified(run))
    if special.any():
        steps, rows = steps[~special[ops.stage[steps]]], rows[~special[ops.stage[rows]]]
    order = np.argsort(ops.stage[steps], kind="stable")
    steps, owner = steps[order], first[ops.stage[steps[order]]]
    plain = _plain_reads(ops, rows, steps, first)
    began = np.searchsorted(owner, owner)
    ledger = Ledger(total + len(steps))
    followed = _follow(run, special, names, first, ledger) if special.any() else []
    changes = (
        np.concatenate((owner, _column(followed, 0))),
        np.concatenate((steps, _column(followed, 1))),
        np.concatenate((np.arange(len(steps)) + total, _column(followed, 2))),
    )
    start, none = np.full(total, -1, np.int64), np.zeros(total + len(steps), np.bool_)
    return Versions(
        run=run,
        stage=np.repeat(np.arange(run.schedule.stages), counts),
        names=tuple(_flat_names(names, counts)) if names else ("",) * total,
        weight=np.concatenate((np.arange(total), owner, _ints(ledger.weight))),
        number=np.concatenate((start + 1, np.arange(len(steps)) - began + 1, _ints(ledger.number))),
        made=np.concatenate((start, steps, _ints(ledger.made))),
        settled=np.concatenate((start, steps, _ints(ledger.settled))),
        withdrawn=np.concatenate((none, np.asarray(ledger.withdrawn, np.bool_))),
        absent=np.concatenate((none, np.asarray(ledger.absent, np.bool_))),
        reads=_joined(plain, followed),
        empty=_ints(sorted(row for each in followed for row in each.empty)),
        changes=changes,
        lost=_ints(sorted({row for each in followed for row in each.lost})),
        special=special,
    )


def _ints(values: list[int]) -> IntArray:
    return np.asarray(values, np.int64)


def _column(followed: list[Followed], side: int) -> IntArray:
    return _ints([change[side] for each in followed for change in each.changes])


def _flat_names(names: Mapping[int, tuple[str, ...]], counts: IntArray) -> list[str]:
    return [name for stage in range(len(counts)) for name in names.get(stage, ("",))]


def _at_home(run: AsRun) -> _Flags:
    """Return which rows are of a stage that lives on their rank."""
    ops = run.operations
    known = (ops.stage >= 0) & (ops.stage < run.schedule.stages)
    home = np.asarray((*run.placement, -1))
    return np.asarray(known & (home[np.where(known, ops.stage, -1)] == ops.rank))


def identified(run: AsRun) -> _Flags:
    """Return which rows at home name a microbatch that exists."""
    ops = run.operations
    return _at_home(run) & (ops.microbatch >= 0) & (ops.microbatch < run.microbatches)


def _special(run: AsRun) -> _Flags:
    """Return which stages do more than read what is current, shape `(stages,)`."""
    ops = run.operations
    special = np.zeros(run.schedule.stages, np.bool_)
    marked = ops.is_kind(Kind.COMMIT, Kind.ROLLBACK, Kind.GATHER)
    rows = [int(row) for row in np.flatnonzero(marked)] if marked.any() else []
    ends, readers = {int(kind) for kind in _ENDS}, {int(kind) for kind in READERS}
    for row, said in ops.attributes.items():
        kind = int(ops.kind[row])
        reads = said.get("w", "latest") != "latest" or "wv" in said or "fill" in said
        if (kind in readers and reads) or (kind in ends and "param" in said):
            rows.append(row)
    if rows:
        found = np.asarray(rows)
        special[ops.stage[found[_at_home(run)[found]]]] = True
    return special


def _names(run: AsRun, special: _Flags) -> dict[int, tuple[str, ...]]:
    """Return the parameters of the stages whose STEPs or SKIPs name some."""
    ops = run.operations
    if not special.any():
        return {}
    named: dict[int, dict[str, None]] = {}
    for row in np.flatnonzero(ops.is_kind(*_ENDS) & _at_home(run)).tolist():
        name = ops.attributes.get(row, {}).get("param", "")
        named.setdefault(int(ops.stage[row]), {})[name] = None
    return {stage: tuple(sorted(own)) for stage, own in named.items() if own.keys() != {""}}


def _plain_reads(ops: Operations, rows: IntArray, steps: IntArray, first: IntArray) -> Reads:
    """Return what rows read that read what is current: the version after the STEPs before them."""
    owner = first[ops.stage[rows]]
    versions = owner
    if len(steps):
        size, total = len(ops) + 1, int(first[-1])
        keys = ops.stage[steps] * size + steps
        at = np.searchsorted(keys, ops.stage[rows] * size + rows)
        low = np.searchsorted(keys, np.arange(len(first)) * size)[ops.stage[rows]]
        versions = np.where(at > low, total + at - 1, owner)
    return Reads(rows, versions)


def _follow(
    run: AsRun,
    special: _Flags,
    names: Mapping[int, tuple[str, ...]],
    first: IntArray,
    ledger: Ledger,
) -> list[Followed]:
    """Follow each special stage along its program."""
    ops = run.operations
    chosen = np.flatnonzero((identified(run) & ops.is_kind(*READERS)) | _moving(run))
    chosen = chosen[special[ops.stage[chosen]]]
    found: dict[int, Followed] = {}
    buckets = _buckets(run, chosen)
    for row, stage, kind, microbatch in zip(
        chosen.tolist(),
        ops.stage[chosen].tolist(),
        ops.kind[chosen].tolist(),
        ops.microbatch[chosen].tolist(),
        strict=True,
    ):
        if stage not in found:
            own = enumerate(names.get(stage, ("",)), int(first[stage]))
            weights = {name: weight for weight, name in own}
            found[stage] = Followed(weights, buckets.get(stage, ()), ledger)
        found[stage].take(row, Kind(kind), microbatch, ops.attributes.get(row, {}))
    return list(found.values())


def _moving(run: AsRun) -> _Flags:
    return np.asarray(run.operations.is_kind(*_MOVES) & _at_home(run))


def _buckets(run: AsRun, rows: IntArray) -> dict[int, tuple[str, ...]]:
    """Return the parts in which stages with a GATHER hold their copy; `""` is what none names."""
    ops = run.operations
    found: dict[int, dict[str, None]] = {}
    for row in rows[ops.is_kind(Kind.GATHER)[rows]].tolist():
        name = ops.attributes.get(row, {}).get("bucket", "")
        found.setdefault(int(ops.stage[row]), {})[name] = None
    for row in rows[ops.is_kind(Kind.F)[rows]].tolist() if found else ():
        part = ops.attributes.get(row, {}).get("bucket")
        if part is not None and int(ops.stage[row]) in found:
            found[int(ops.stage[row])][part] = None
    return {stage: tuple(own) for stage, own in found.items()}


def _joined(plain: Reads, followed: list[Followed]) -> Reads:
    if not followed:
        return plain
    listed = [read for each in followed for read in each.reads]
    rows = np.concatenate((plain.rows, _ints([row for row, _ in listed])))
    versions = np.concatenate((plain.versions, _ints([version for _, version in listed])))
    order = np.argsort(rows, kind="stable")
    return Reads(rows[order], versions[order])
