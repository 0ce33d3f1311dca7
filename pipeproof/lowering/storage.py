"""Storage written in: which storage each access touches, by attributes and by rules."""

from collections.abc import Mapping

import numpy as np

from pipeproof.ir.accesses import (
    Access,
    codes,
    gradients_of_weights,
    known,
    pick,
    reads,
    supply,
    writes,
)
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Bracket, IntArray, Operations
from pipeproof.ir.schedule import Plain, neighbours
from pipeproof.ir.sets import among, numbered
from pipeproof.ir.storage import KEPT, WEIGHT_GRADIENT, Stored, Touch
from pipeproof.ir.values import ValueKind
from pipeproof.lowering._beside import beside, put_before
from pipeproof.lowering._kept import kept_contents, kept_reads
from pipeproof.lowering._pools import Pools

__all__ = ["write_in"]

_NAMES = ("buf", "in", "out", "gin", "gout", "keep", "aux", "label", "storage")


def write_in(run: AsRun) -> Stored | None:
    """Return every access of storage that has a name or is a slot; None where none has.

    An attribute names the storage of an access; without one a write goes into a slot of its pool,
    and a read finds its value where it was last put before it on its rank. What is neither named
    nor pooled has storage of its own and does not appear.
    """
    described = run.schedule.described.get("storage", {})
    pooled = described if isinstance(described, Mapping) else {}
    if not pooled and not _names_any(run.operations):
        return None
    return _Writer(run, pooled).stored()


def _names_any(ops: Operations) -> bool:
    return any(not said.keys().isdisjoint(_NAMES) for said in ops.attributes.values())


class _Writer:
    """The accesses of one schedule on their way into the table."""

    def __init__(self, run: AsRun, pooled: Mapping[str, Plain]) -> None:
        self.run, self.ops = run, run.operations
        self.names: dict[tuple[int, str], int] = {}
        self.named = {key: np.full(len(self.ops), -1, np.int64) for key in _NAMES}
        for row, said in self.ops.attributes.items():
            for key in (each for each in _NAMES if each in said):
                own = (int(self.ops.rank[row]), said[key])
                self.named[key][row] = self.names.setdefault(own, len(self.names))
        labels = [name for _, name in self.names]
        self.pools = Pools(run, pooled, labels)

    def stored(self) -> Stored:
        puts, into = self._puts()
        reading, of = self._reads()
        given_by = supply(self.ops, reading, puts)
        where = self._found(puts, into, reading, given_by.writer)
        of = np.where(of >= 0, of, where)
        keeps = kept_contents(self.run, self.named, self.pools, reading, of)
        kept = kept_reads(self.run, keeps)
        absent = given_by.writer < 0
        nowhere = absent & (given_by.later < 0)
        what = reading.values >> 56
        free = among(what, (ValueKind.NAME, ValueKind.X, ValueKind.Y, ValueKind.A))
        given = nowhere & (free | self.run.schedule.fragment)
        told = absent & ~given & ~self.ops.is_kind(Kind.USE)[reading.rows]
        frees = np.flatnonzero(self.ops.is_kind(Kind.FREE))
        no, there = np.zeros((2, len(kept.rows)), np.bool_)
        taken = np.flatnonzero((kept.values >> 56) != KEPT)  # an input or output, kept as it is
        source = supply(self.ops, Access(kept.rows[taken], kept.values[taken]), puts)
        there[taken] = (source.writer < 0) & (source.later < 0)
        parts = [
            (of, reading.rows, np.int64(Touch.READ), reading.values, given, told),
            (kept.storage, kept.rows, np.int64(Touch.READ), kept.values, there, no),
            self._written(into, puts.rows, puts.values),
            self._written(keeps.storage[keeps.put], keeps.rows[keeps.put], keeps.own),
            self._written(self.named["storage"][frees], frees, np.full(len(frees), -1)),
        ]
        return self._table(parts)

    def _written(
        self, storage: IntArray, rows: IntArray, values: IntArray
    ) -> tuple[IntArray, IntArray, np.int64, IntArray, "_Bools", "_Bools"]:
        no = np.zeros(len(rows), np.bool_)
        return storage, rows, np.int64(Touch.WRITE), values, no, no

    def _table(
        self, parts: list[tuple[IntArray, IntArray, np.int64, IntArray, "_Bools", "_Bools"]]
    ) -> Stored:
        ops = self.ops
        storage = np.concatenate([part[0] for part in parts])
        rows = np.concatenate([part[1] for part in parts])
        touch = np.concatenate([np.full(len(part[1]), part[2]) for part in parts])
        values = np.concatenate([part[3] for part in parts])
        given = np.concatenate([part[4] for part in parts])
        told = np.concatenate([part[5] for part in parts])
        freeing = ops.is_kind(Kind.FREE)[rows]
        touch = np.where(freeing, int(Touch.FREE), touch)
        grouped = ops.bracket[rows] == Bracket.GROUP
        moment = np.where(grouped, ops.first_row[ops.instruction[rows]], rows)
        order = np.lexsort((rows, touch != Touch.READ, moment, storage))
        order = order[storage[order] >= 0]
        storage, rows, touch = storage[order], rows[order], touch[order]
        values = values[order]
        source, coming = put_before(storage, values, touch)
        before, after = beside(storage, touch)
        return Stored(
            storage=storage,
            rows=rows,
            touch=touch,
            values=values,
            source=source,
            before=before,
            after=after,
            moves=self.run.is_message[rows] & (touch != Touch.FREE),
            coming=coming,
            given=given[order],
            told=told[order],
            guarded=self.pools.guarded[storage],
            labels=self.pools.labels,
        )

    # what is put where

    def _puts(self) -> tuple[Access, IntArray]:
        """Return all that is put on a rank, and its storage, -1 for storage of its own."""
        ops, writing = self.ops, writes(self.run)
        extra = np.flatnonzero(ops.is_kind(Kind.W) & (self.named["gout"] >= 0))
        code = (WEIGHT_GRADIENT << 56) | (ops.stage[extra] << 32) | ops.microbatch[extra]
        rows = np.concatenate((writing.rows, extra))
        values = np.concatenate((writing.values, code))
        kind, what = ops.kind[rows], values >> 56
        forward = among(kind, (Kind.F, Kind.L)) & ~((kind == Kind.F) & (what == ValueKind.L))
        into = np.full(len(rows), -1, np.int64)
        for chosen, name in (
            (forward, "out"),
            (among(kind, (Kind.B, Kind.I, Kind.W)), "gout"),
            (among(kind, (Kind.RECV, Kind.LOAD)), "buf"),
            (kind == Kind.WRITE, "storage"),
        ):
            into[chosen] = self.named[name][rows[chosen]]
        return Access(rows, values), self.pools.place(rows, values, into)

    # what is read where

    def _reads(self) -> tuple[Access, IntArray]:
        """Return all that is read, and the storage that an attribute names, -1 without."""
        ops, reading = self.ops, reads(self.run)
        kind, what = ops.kind[reading.rows], reading.values >> 56
        of = np.full(len(reading.rows), -1, np.int64)
        forward = among(kind, (Kind.F, Kind.L))
        for chosen, name in (
            (forward & (what != ValueKind.Y), "in"),
            ((kind == Kind.L) & (what == ValueKind.Y), "label"),
            (among(kind, (Kind.B, Kind.I)), "gin"),
            (kind == Kind.SEND, "buf"),
            (kind == Kind.USE, "storage"),
        ):
            of[chosen] = self.named[name][reading.rows[chosen]]
        more, named = self._more_reads()
        rows = np.concatenate((reading.rows, more.rows))
        values = np.concatenate((reading.values, more.values))
        return Access(rows, values), np.concatenate((of, named))

    def _more_reads(self) -> tuple[Access, IntArray]:
        """Return the reads that only storage is about.

        The extra input that `aux` names, the loss that the last stage's F computed, and what a W
        reads of the gradient: where it names it, and on torch's first stage, whose I leaves the
        whole backward to W.
        """
        ops = self.ops
        extra = np.flatnonzero(ops.is_kind(Kind.F) & (self.named["aux"] >= 0))
        losses = self._implicit_losses()
        weights, gradients = gradients_of_weights(self.run)
        rows = np.concatenate((extra, losses, weights))
        values = np.concatenate(
            (
                codes(ValueKind.A, 0, ops.microbatch[extra]),
                codes(ValueKind.L, 0, ops.microbatch[losses]),
                gradients,
            )
        )
        nameless = np.full(len(losses), -1, np.int64)
        of = (self.named["aux"][extra], nameless, self.named["gin"][weights])
        return Access(rows, values), np.concatenate(of)

    def _implicit_losses(self) -> IntArray:
        ops = self.ops
        after = np.asarray((*neighbours(self.run.schedule)[1], 0))
        rows = known(self.run, Kind.B, Kind.I)
        rows = rows[after[ops.stage[rows]] < 0]
        return rows[~among(ops.microbatch[rows], ops.microbatch[ops.is_kind(Kind.L)])]

    def _found(self, puts: Access, into: IntArray, reading: Access, writer: IntArray) -> IntArray:
        """Return where the value of each read was put by its writer, -1 for its own storage."""
        _, values = numbered(np.concatenate((puts.values, reading.values)))
        size = int(values.max(initial=0)) + 1
        key = puts.rows * size + values[: len(puts.rows)]
        order = np.argsort(key, kind="stable")
        own = writer * size + values[len(puts.rows) :]
        at = np.searchsorted(key[order], own)
        return pick(into[order], key[order], at, own)


_Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
