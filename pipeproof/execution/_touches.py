"""What each row of a schedule reads, writes and gives back, and in which memory."""

from collections import defaultdict
from typing import NamedTuple

from pipeproof.ir.accesses import (
    TORCH_PROFILES,
    Access,
    gradients_of_weights,
    known,
    reads,
    writes,
)
from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.schedule import neighbours
from pipeproof.ir.storage import KEPT, Touch
from pipeproof.ir.values import ValueKind, encode

__all__ = ["Key", "Touched", "Touches", "kept_value", "later", "what_of"]

Key = tuple[int, int]
"""A memory: `(-1, storage)`, or `(rank, value)` for a value with a storage of its own."""

_FREE = (ValueKind.NAME, ValueKind.X, ValueKind.Y, ValueKind.A)


class Touched(NamedTuple):
    """One access: a value in a memory; `given` says that it is there from the start."""

    value: int
    key: Key
    given: bool = False


def what_of(value: int) -> int:
    """Return what a content is: a kind of value, what a forward keeps, or a weight gradient."""
    return value >> 56


def kept_value(stage: int, microbatch: int) -> int:
    """Return the content that a forward keeps."""
    return (KEPT << 56) | (stage << 32) | microbatch


def later(value: int, ids: int) -> int:
    """Return the value of the same name so many microbatches later; a word stays what it is."""
    return value if what_of(value) == ValueKind.NAME else value + ids


class Touches:
    """The accesses of every row, by row: `reads`, `writes` and the storage that it `frees`.

    `computing` are the rows that compute something of a stage and microbatch that exist. `takes`
    are memories that nobody else finds anything in once a row is done with them.
    """

    def __init__(self, run: AsRun) -> None:
        self.run = run
        self.reads: dict[int, list[Touched]] = defaultdict(list)
        self.writes: dict[int, list[Touched]] = defaultdict(list)
        self.frees: dict[int, Key] = {}
        self.computing = frozenset(known(run, *COMPUTE).tolist())
        self._ranks = run.operations.rank.tolist()
        self._last = [stage for stage, after in enumerate(neighbours(run.schedule)[1]) if after < 0]
        self._stored()
        writing = writes(run)
        own = [self._ranks[row] for row in writing.rows.tolist()]
        self._put = set(zip(own, writing.values.tolist(), strict=True))
        self._plain(writing, self.writes)
        self._plain(reads(run), self.reads)
        self._plain(gradients_of_weights(run), self.reads)
        self._losses()
        self._kept()
        self.takes: dict[int, list[Key]] = defaultdict(list)
        if run.schedule.profile in TORCH_PROFILES:
            self._list_losses()
            self._take()

    def _stored(self) -> None:
        stored = self.run.storage
        if stored is None:
            return
        rows, values = stored.rows.tolist(), stored.values.tolist()
        for n, (row, storage) in enumerate(zip(rows, stored.storage.tolist(), strict=True)):
            touched = Touched(values[n], (-1, storage), bool(stored.given[n]))
            match Touch(int(stored.touch[n])):
                case Touch.READ:
                    self.reads[row].append(touched)
                case Touch.WRITE:
                    self.writes[row].append(touched)
                case Touch.FREE:
                    self.frees[row] = touched.key

    def _plain(self, access: Access, into: dict[int, list[Touched]]) -> None:
        """Give every access that no storage has one in the storage of its value."""
        for row, value in zip(access.rows.tolist(), access.values.tolist(), strict=True):
            own = into[row]
            if any(each.value == value for each in own):
                continue
            if what_of(value) == ValueKind.L and self._reads_output(row):
                continue
            own.append(Touched(value, (self._ranks[row], value), self._is_given(row, value)))

    def _reads_output(self, row: int) -> bool:
        """Whether a backward reads the output of the last stage where the loss is asked for."""
        ops = self.run.operations
        own = encode(ValueKind.F, int(ops.stage[row]), int(ops.microbatch[row]))
        backward = int(ops.kind[row]) in (Kind.B, Kind.I) and int(ops.stage[row]) in self._last
        return backward and any(each.value == own for each in self.reads[row])

    def _is_given(self, row: int, value: int) -> bool:
        absent = (self._ranks[row], value) not in self._put
        return absent and (self.run.schedule.fragment or what_of(value) in _FREE)

    def _losses(self) -> None:
        """Let backwards of a last stage read the loss that its forward made."""
        ops = self.run.operations
        for row in known(self.run, Kind.B, Kind.I).tolist():
            if int(ops.stage[row]) not in self._last or self._reads_output(row):
                continue
            value = encode(ValueKind.L, 0, int(ops.microbatch[row]))
            if all(each.value != value for each in self.reads[row]):
                key = (self._ranks[row], value)
                self.reads[row].append(Touched(value, key, self._is_given(row, value)))

    def _kept(self) -> None:
        """Let forwards keep, and backwards read, what no storage is named for."""
        ops, fragment = self.run.operations, self.run.schedule.fragment
        forwards = known(self.run, Kind.F).tolist()
        there = {(int(ops.stage[row]), int(ops.microbatch[row])) for row in forwards}
        for row in (*forwards, *known(self.run, Kind.B, Kind.I, Kind.W, Kind.R).tolist()):
            identity = int(ops.stage[row]), int(ops.microbatch[row])
            value = kept_value(*identity)
            is_forward = int(ops.kind[row]) == Kind.F
            own = self.writes[row] if is_forward else self.reads[row]
            if all(each.value != value for each in own):
                given = fragment and identity not in there
                own.append(Touched(value, (self._ranks[row], value), given))

    def _list_losses(self) -> None:
        """Put losses into a list in the order of the forwards, from which backwards take by id.

        Source: torch 2.13.0, schedules.py, `_maybe_compute_loss` and `_maybe_get_loss`.
        """
        ops, size = self.run.operations, max(self.run.schedule.ids_per_step, 1)
        listed: dict[tuple[int, int, int], int] = defaultdict(int)
        for row in known(self.run, Kind.F).tolist():
            stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
            if stage not in self._last:
                continue
            step = microbatch // size
            entry = (step * size) + listed[self._ranks[row], stage, step]
            listed[self._ranks[row], stage, step] += 1
            own = self.writes[row]
            for n, each in enumerate(own):
                if what_of(each.value) == ValueKind.L and each.key[0] >= 0:
                    own[n] = each._replace(key=(each.key[0], encode(ValueKind.L, 0, entry)))

    def _take(self) -> None:
        """Let a backward take the activation of its stage, and a send the gradient that it sends.

        Source: torch 2.13.0, stage.py, `fwd_cache.pop` and `bwd_cache.pop`.
        """
        ops = self.run.operations
        for row in known(self.run, Kind.B, Kind.I).tolist():
            value = encode(ValueKind.F, int(ops.stage[row]), int(ops.microbatch[row]))
            self.takes[row].append((self._ranks[row], value))
        for row in ops.is_kind(Kind.SEND).nonzero()[0].tolist():
            if what_of(int(ops.value[row])) == ValueKind.B:
                self.takes[row].extend(t.key for t in self.reads[row] if t.key[0] >= 0)
