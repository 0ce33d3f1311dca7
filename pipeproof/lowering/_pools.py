"""Pools of slots: which slot a value without a name of its storage is put into."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray, read_only
from pipeproof.ir.schedule import Plain, neighbours
from pipeproof.ir.sets import among, numbered, ordinal_in_group
from pipeproof.ir.values import MAX_STAGE, ValueKind

__all__ = ["Pools"]


class _Pool(NamedTuple):
    name: str
    slots: int
    by_use: bool
    guard: bool
    per_rank: bool


class _Puts(NamedTuple):
    """Values on their way into a pool: where they are put, which, for which stage, and if."""

    rows: IntArray
    values: IntArray
    stage: IntArray
    chosen: npt.NDArray[np.bool_]


def _pool(name: str, said: Plain) -> _Pool | None:
    if not isinstance(said, Mapping) or "take" in said:  # slots handed out have no names
        return None
    return _Pool(
        name=name,
        slots=int(str(said["slots"])),
        by_use=said.get("slot") == "use mod slots",
        guard=said.get("guard") == "wait",
        per_rank=said.get("per") == "rank",
    )


class Pools:
    """The pools of one schedule; storages are numbered on from those that have names."""

    def __init__(self, run: AsRun, pooled: Mapping[str, Plain], labels: list[str]) -> None:
        self.run = run
        self._labels = labels
        self._guarded = [False] * len(labels)
        self._pools = {name: _pool(name, said) for name, said in pooled.items()}
        registers = pooled.get("registers", ())
        self._registers = registers if isinstance(registers, tuple) else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What each storage is called."""
        return tuple(self._labels)

    @property
    def guarded(self) -> npt.NDArray[np.bool_]:
        """Which storages their writers wait for, shape `(storages,)`."""
        return np.asarray([*self._guarded, False], np.bool_)

    def place(self, rows: IntArray, values: IntArray, into: IntArray) -> IntArray:
        """Return `into` with the slots of what has none yet and belongs into a pool."""
        ops, what = self.run.operations, values >> 56
        stage = (values >> 32) & MAX_STAGE
        before, after = (np.asarray((*side, -1)) for side in neighbours(self.run.schedule))
        safe = np.minimum(stage, self.run.schedule.stages)
        moved = among(what, (ValueKind.F, ValueKind.B))
        received = ops.is_kind(Kind.RECV)[rows] & moved
        reader = np.where(what == ValueKind.F, after[safe], before[safe])
        if "loss" in self._registers:
            into = self._register("loss", rows, what == ValueKind.L, into)
        if "grad" in self._registers:
            into = self._register("grad", rows, received & (what == ValueKind.B), into)
        into = self._slots("receive", _Puts(rows, values, reader, received & (reader >= 0)), into)
        made = ops.is_kind(Kind.F, Kind.B, Kind.I)[rows] & moved & self._sent(rows, values)
        return self._slots("send", _Puts(rows, values, stage, made), into)

    def stash(self, rows: IntArray, into: IntArray) -> IntArray:
        """Return `into` with the stash slots of the forwards `rows` that name no storage."""
        stage, microbatch = self.run.operations.stage[rows], self.run.operations.microbatch[rows]
        values = (stage << 32) | microbatch
        return self._slots("stash", _Puts(rows, values, stage, np.ones(len(rows), np.bool_)), into)

    def _sent(self, rows: IntArray, values: IntArray) -> npt.NDArray[np.bool_]:
        ops = self.run.operations
        sends = np.flatnonzero(self.run.is_message & ops.is_kind(Kind.SEND))
        _, number = numbered(np.concatenate((ops.value[sends], values)))
        ranks = self.run.schedule.ranks
        key = number * ranks + np.concatenate((ops.rank[sends], ops.rank[rows]))
        return among(key[len(sends) :], key[: len(sends)])

    def _register(
        self, name: str, rows: IntArray, chosen: npt.NDArray[np.bool_], into: IntArray
    ) -> IntArray:
        chosen = chosen & (into < 0)
        return self._enter(f"register {name}", self.run.operations.rank[rows], chosen, into)

    def _slots(self, name: str, puts: "_Puts", into: IntArray) -> IntArray:
        pool = self._pools.get(name)
        chosen = puts.chosen & (into < 0)
        if pool is None or not np.any(chosen):
            return into
        key = self.run.operations.rank[puts.rows]
        if not pool.per_rank:
            backward = (puts.values >> 56) == int(ValueKind.B)
            key = (key * (self.run.schedule.stages + 1) + puts.stage) * 2 + backward
        slot = (puts.values & 0xFFFFFFFF) % pool.slots
        if pool.by_use:
            slot[chosen] = self._uses(puts.rows[chosen], key[chosen]) % pool.slots
        label = f"slot {{slot}} of {name}"
        return self._enter(label, key * pool.slots + slot, chosen, into, pool)

    def _uses(self, rows: IntArray, key: IntArray) -> IntArray:
        """Number the values that are put into each pool in program order."""
        order = np.argsort(rows, kind="stable")
        turn = np.empty(len(rows), np.int64)
        turn[order] = ordinal_in_group(key[order])
        return turn

    def _enter(
        self,
        label: str,
        key: IntArray,
        chosen: npt.NDArray[np.bool_],
        into: IntArray,
        pool: _Pool | None = None,
    ) -> IntArray:
        known, number = numbered(key[chosen])
        into = into.copy()
        into[chosen] = number + len(self._labels)
        slots = pool.slots if pool is not None else 1
        self._labels.extend(label.format(slot=int(each) % slots) for each in known)
        self._guarded.extend([pool is not None and pool.guard] * len(known))
        return np.asarray(read_only(into))
