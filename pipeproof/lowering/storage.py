"""Storage written in: which storage each access touches, by attributes and by rules."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.accesses import (
    Access,
    Supply,
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
from pipeproof.ir.storage import WEIGHT_GRADIENT, Stored, Touch
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
        reading, elsewhere = self._losses(reading, of, given_by.writer)
        where = self._found(puts, into, reading, given_by.writer)
        of = np.where(of >= 0, of, where)
        keeps = kept_contents(self.run, self.named, self.pools, reading, of)
        kept = kept_reads(self.run, keeps)
        given, told = self._excused(reading, given_by)
        given |= elsewhere
        frees = np.flatnonzero(self.ops.is_kind(Kind.FREE))
        put = keeps.put
        return self._table(
            [
                _part(Touch.READ, of, reading.rows, reading.values, given=given, told=told),
                _part(Touch.READ, kept.storage, kept.rows, kept.values, left_by=kept.left_by),
                _part(Touch.WRITE, into, puts.rows, puts.values),
                _part(Touch.WRITE, keeps.storage[put], keeps.rows[put], keeps.values[put]),
                _part(Touch.FREE, self.named["storage"][frees], frees, np.full(len(frees), -1)),
            ]
        )

    def _losses(self, reading: Access, of: IntArray, writer: IntArray) -> tuple[Access, "_Bools"]:
        """Let backwards that name where the loss is, which a forward made, read what stands there.

        That is the output of that forward where it is put there. Else in a fragment, where
        losses may be absent, what is there from the start: those reads are marked.
        """
        ops, values = self.ops, reading.values.copy()
        made = ((values >> 56) == int(ValueKind.L)) & (of >= 0) & (writer >= 0)
        made &= ops.is_kind(Kind.F)[writer] & ops.is_kind(Kind.B, Kind.I)[reading.rows]
        output = np.flatnonzero(made & (self.named["out"][writer] == of))
        forward = writer[output]
        values[output] = codes(ValueKind.F, ops.stage[forward], ops.microbatch[forward])
        made[output] = False
        return Access(reading.rows, values), made & self.run.schedule.fragment

    def _excused(self, reading: Access, given_by: Supply) -> tuple["_Bools", "_Bools"]:
        """Return which reads are of what is there from the start, and which rules of order tell.

        A value with a name of its own that nobody puts on the rank is there from the start, as an
        input that is never loaded. No rule of order knows what only storage is about: an extra
        input that is named, and the gradient that a W reads without its I.
        """
        ops, run = self.ops, self.run
        absent = given_by.writer < 0
        what = reading.values >> 56
        free = among(what, (ValueKind.NAME, ValueKind.X, ValueKind.Y, ValueKind.A))
        given = absent & (given_by.later < 0) & (free | run.schedule.fragment)
        own = ops.stage[reading.rows] * run.microbatches + ops.microbatch[reading.rows]
        half = known(run, Kind.I)
        halves = among(own, ops.stage[half] * run.microbatches + ops.microbatch[half])
        alone = ops.is_kind(Kind.W)[reading.rows] & ~halves
        extra = (what == ValueKind.A) & ops.is_kind(Kind.F)[reading.rows]
        ruled = ~ops.is_kind(Kind.USE)[reading.rows] & ~alone & ~extra
        return given, absent & ~given & ruled

    def _table(self, parts: list["_Part"]) -> Stored:
        ops = self.ops
        all_ = _joined(parts)
        grouped = ops.bracket[all_.rows] == Bracket.GROUP
        moment = np.where(grouped, ops.first_row[ops.instruction[all_.rows]], all_.rows)
        order = np.lexsort((all_.rows, all_.touch != Touch.READ, moment, all_.storage))
        order = order[all_.storage[order] >= 0]
        table = _joined([all_], order)
        storage, touch = table.storage, table.touch
        before, after = beside(storage, touch)
        table = self._with_left(table, before, storage * (len(ops) + 1) + moment[order])
        source, coming = put_before(storage, table.values, touch)
        return Stored(
            storage=storage,
            rows=table.rows,
            touch=touch,
            values=table.values,
            source=source,
            before=before,
            after=after,
            moves=self.run.is_message[table.rows] & (touch != Touch.FREE),
            coming=coming,
            given=table.given,
            told=table.told,
            guarded=self.pools.guarded[storage],
            labels=self.pools.labels,
        )

    def _with_left(self, table: "_Part", before: IntArray, times: IntArray) -> "_Part":
        """Return the table with what forwards left in place of what they keep there.

        That is what their storage holds at their end: what was put there last, or else what is
        there from the start. Where it holds nothing by then, that forward is told.
        """
        kept = np.flatnonzero(table.left_by >= 0)
        if not len(kept):
            return table
        wanted = table.storage[kept] * (len(self.ops) + 1) + table.left_by[kept]
        forward = np.searchsorted(times, wanted, side="right") - 1
        last = np.where(table.touch[forward] == Touch.WRITE, forward, before[forward])
        put = (last >= 0) & (table.touch[last] == Touch.WRITE)
        start = (last < 0) & table.given[forward]
        values, given, told = table.values.copy(), table.given.copy(), table.told.copy()
        values[kept[put]] = table.values[last[put]]
        values[kept[start]] = table.values[forward[start]]
        given[kept[start]] = True
        told[kept[~put & ~start]] = True
        return table._replace(values=values, given=given, told=told)

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
        of = (self.named["aux"][extra], self.named["gin"][losses], self.named["gin"][weights])
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


_Bools = npt.NDArray[np.bool_]


class _Part(NamedTuple):
    """Accesses as columns, `left_by` the forward that left what is read, -1 for none."""

    storage: IntArray
    rows: IntArray
    touch: IntArray
    values: IntArray
    given: _Bools
    told: _Bools
    left_by: IntArray


def _part(  # noqa: PLR0913  the columns of a part
    touch: Touch,
    storage: IntArray,
    rows: IntArray,
    values: IntArray,
    *,
    given: _Bools | None = None,
    told: _Bools | None = None,
    left_by: IntArray | None = None,
) -> _Part:
    """Return accesses of one kind; what is left out is False, or -1, of all of them."""
    no, none = np.zeros(len(rows), np.bool_), np.full(len(rows), -1, np.int64)
    return _Part(
        storage=storage,
        rows=rows,
        touch=np.full(len(rows), int(touch), np.int64),
        values=values,
        given=no if given is None else given,
        told=no if told is None else told,
        left_by=none if left_by is None else left_by,
    )


def _joined(parts: list[_Part], order: IntArray | None = None) -> _Part:
    """Return the accesses of all parts, or those of `order` among them."""
    chosen = slice(None) if order is None else order
    return _Part(
        storage=np.concatenate([part.storage for part in parts])[chosen],
        rows=np.concatenate([part.rows for part in parts])[chosen],
        touch=np.concatenate([part.touch for part in parts])[chosen],
        values=np.concatenate([part.values for part in parts])[chosen],
        given=np.concatenate([part.given for part in parts])[chosen],
        told=np.concatenate([part.told for part in parts])[chosen],
        left_by=np.concatenate([part.left_by for part in parts])[chosen],
    )
