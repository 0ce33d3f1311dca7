"""Ranks with `order: ready`: what each instruction needs, and rows in an order of picks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeproof.ir.accesses import awaited_reads, writes
from pipeproof.ir.actions import BACKWARDS, COMPUTE, Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import NONE, Bracket, IntArray
from pipeproof.ir.values import ValueKind
from pipeproof.lowering.outcomes import open_receives

__all__ = ["Needs", "Rank", "is_plain_kind", "ranks_of", "row_order", "unclear"]

_MOVABLE = frozenset((*COMPUTE, Kind.SEND, Kind.RECV, Kind.WAIT, Kind.LOAD))
_MOST = 400  # instructions of ready ranks whose orders are looked through
_PARTS = frozenset(("bucket", "param", "c"))
_GIVEN = (ValueKind.X, ValueKind.Y, ValueKind.A)


class Needs(NamedTuple):
    """What an instruction of a ready rank needs before it is picked.

    Instructions of its rank that are done: each of `done`, and one of each set in `one_of`.
    Messages that are complete, by row; receives, by row, whose message has been posted. `nowhere`:
    something that stands nowhere. `rows` are its own rows.
    """

    rows: tuple[int, ...]
    done: frozenset[int] = frozenset()
    one_of: tuple[frozenset[int], ...] = ()
    complete: tuple[int, ...] = ()
    receives: tuple[int, ...] = ()
    nowhere: bool = False


class Rank(NamedTuple):
    """A ready rank: its instructions with their needs in written order, its bound and priority."""

    rank: int
    needs: Mapping[int, Needs]
    limit: int | None
    prefer: str


def is_plain_kind(run: AsRun, row: int) -> bool:
    """Whether an instruction of this kind may be picked out of its turn."""
    kind = Kind(int(run.operations.kind[row]))
    return kind in _MOVABLE and not (
        kind is Kind.LOAD and "buf" in run.operations.attributes.get(row, {})
    )


def unclear(run: AsRun) -> str:
    """Return why the orders of ready ranks are not looked through, nothing where they are."""
    return next(_reasons(run), "")


def _reasons(run: AsRun) -> Iterator[str]:
    said = run.schedule.described
    ready = said.get("ready", {})
    ranks = {int(rank) for rank in ready} if isinstance(ready, Mapping) else set[int]()
    if not ranks:
        return
    width = np.diff(run.rank_start)[[rank for rank in ranks if rank < run.schedule.ranks]]
    if width.sum() > _MOST:
        yield f"more than {_MOST} instructions of ready ranks"
        return
    if run.schedule.steps is None:
        yield "any number of steps of a ready rank"
    if "faults" in said:
        yield "faults beside a ready rank"
    if len(open_receives(run)):
        yield "open receives beside a ready rank"
    pools = said.get("storage", {})
    own = pools.values() if isinstance(pools, Mapping) else ()
    if any(isinstance(p, Mapping) and (p.get("guard") == "wait" or "take" in p) for p in own):
        yield "slots that are waited for beside a ready rank"
    ops = run.operations
    parts = (row for row, attributes in ops.attributes.items() if _PARTS & attributes.keys())
    if any(int(ops.rank[row]) in ranks and is_plain_kind(run, row) for row in parts):
        yield "parts of an operation on a ready rank"
    reader = _Reader(run)
    for rank in sorted(ranks):
        yield from reader.unclear(rank)


def ranks_of(run: AsRun) -> tuple[Rank, ...]:
    """Return the ready ranks of a schedule whose other choices are settled."""
    said = run.schedule.described.get("ready", {})
    reader, found = _Reader(run), []
    for rank, keys in (
        sorted(said.items(), key=lambda each: int(each[0])) if isinstance(said, Mapping) else ()
    ):
        own = keys if isinstance(keys, Mapping) else {}
        limit = own.get("limit")
        live = limit.get("live") if isinstance(limit, Mapping) else None
        found.append(
            Rank(
                int(rank),
                reader.rank(int(rank)),
                None if live is None else int(str(live)),
                str(own.get("prefer", "")),
            )
        )
    return tuple(found)


class _Reader:
    """The needs of the instructions of ready ranks, read from the schedule as written."""

    def __init__(self, run: AsRun) -> None:
        self.run, self.ops = run, run.operations
        reading, writing = awaited_reads(run), writes(run)
        self.reads: dict[int, list[int]] = defaultdict(list)
        for row, value in zip(reading.rows.tolist(), reading.values.tolist(), strict=True):
            self.reads[row].append(value)
        self.writers: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, value in zip(writing.rows.tolist(), writing.values.tolist(), strict=True):
            self.writers[int(self.ops.rank[row]), value].append(row)
        self.loaded = {*self.ops.value[self.ops.is_kind(Kind.LOAD)].tolist()}
        self.made: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
        for row in np.flatnonzero(self.ops.is_kind(*COMPUTE)).tolist():
            self.made[self._key(row, Kind(int(self.ops.kind[row])), 0)].append(row)

    def _key(self, row: int, kind: Kind, shift: int) -> tuple[int, int, int, int]:
        ops = self.ops
        return (
            int(ops.rank[row]),
            int(ops.stage[row]),
            int(ops.microbatch[row]) + shift,
            int(kind),
        )

    def instructions(self, rank: int) -> range:
        return range(int(self.run.rank_start[rank]), int(self.run.rank_start[rank + 1]))

    def rows(self, instruction: int) -> tuple[int, ...]:
        first = self.ops.first_row
        end = first[instruction + 1] if instruction + 1 < len(first) else len(self.ops)
        return tuple(range(int(first[instruction]), int(end)))

    def is_barrier(self, instruction: int) -> bool:
        """Whether what is written before runs before, and what is written after runs after."""
        rows = self.rows(instruction)
        if not all(is_plain_kind(self.run, row) for row in rows):
            return True
        row = rows[0]
        return self.ops.kind[row] == Kind.WAIT and not all(
            self.run.is_message[each] for each in self.started(row)
        )

    def started(self, wait: int) -> tuple[int, ...]:
        """Return what was started under the handle of a WAIT since the WAIT before it."""
        ops, found = self.ops, list[int]()
        same = (ops.rank == ops.rank[wait]) & (ops.handle == ops.handle[wait])
        for row in np.flatnonzero(same).tolist():
            if row >= wait:
                break
            if ops.kind[row] == Kind.WAIT:
                found.clear()
            else:
                found.append(row)
        return tuple(found)

    def unclear(self, rank: int) -> Iterator[str]:
        """Yield what cannot be told of a rank's needs."""
        for instruction in self.instructions(rank):
            for row in self.rows(instruction):
                if self.ops.kind[row] == Kind.WAIT and not self.started(row):
                    yield "a WAIT before what it waits for, on a ready rank"
                for value in self.reads[row]:
                    makers = self._makers(row, value)
                    if len(makers) > 1 and any(self.ops.kind[m] == Kind.RECV for m in makers):
                        yield "a value that a ready rank receives twice"

    def rank(self, rank: int) -> dict[int, Needs]:
        """Return the needs of each instruction of a rank."""
        found: dict[int, Needs] = {}
        barrier = -1
        for instruction in self.instructions(rank):
            first = max(barrier, int(self.run.rank_start[rank]))
            if self.is_barrier(instruction):
                done = frozenset(range(first, instruction))
                found[instruction] = Needs(self.rows(instruction), done)
                barrier = instruction
            else:
                found[instruction] = self._needs(instruction, barrier)
        return found

    def _needs(self, instruction: int, barrier: int) -> Needs:
        rows = self.rows(instruction)
        done = {barrier} if barrier >= 0 else set[int]()
        one_of: list[frozenset[int]] = []
        complete: list[int] = []
        nowhere = False
        for row in rows:
            done |= self._handle_order(row)
            if self.ops.kind[row] == Kind.WAIT:
                complete += self.started(row)
            for makers in self._values(row):
                if makers and self.ops.kind[makers[0]] == Kind.RECV:
                    complete.append(makers[0])
                    nowhere |= not self.run.is_message[makers[0]]
                elif makers:
                    one_of.append(frozenset(self.ops.instruction[list(makers)].tolist()))
                else:
                    nowhere = True
            one_of += self._stage(row)
            nowhere |= self._lacks(row)
        inside = [row for row in rows if self.ops.kind[row] == Kind.RECV]
        receives = tuple(row for row in inside if self.run.is_message[row])
        one_of = [each for each in one_of if instruction not in each]
        return Needs(
            rows,
            frozenset(done),
            tuple(one_of),
            tuple(complete),
            receives,
            nowhere or len(receives) < len(inside),
        )

    def _handle_order(self, row: int) -> set[int]:
        """Return the WAIT of the same handle before a row: a handle keeps its order."""
        ops = self.ops
        if ops.handle[row] == NONE:
            return set()
        same = (ops.rank == ops.rank[row]) & (ops.handle == ops.handle[row])
        waits = np.flatnonzero(same & ops.is_kind(Kind.WAIT))
        waits = waits[waits < row]
        return {int(ops.instruction[waits[-1]])} if len(waits) else set()

    def _makers(self, row: int, value: int) -> list[int]:
        """Return who makes a value for a row, other than members of its bracket."""
        ops = self.ops
        makers = self.writers.get((int(ops.rank[row]), value), [])
        if ops.bracket[row] != Bracket.GROUP:
            return makers
        return [each for each in makers if ops.instruction[each] != ops.instruction[row]]

    def _values(self, row: int) -> Iterator[list[int]]:
        """Yield, for each value that a row reads, who makes it; an empty list for nobody."""
        for value in self.reads[row]:
            makers = self._makers(row, value)
            if self.ops.bracket[row] == Bracket.OVERLAP and any(
                self.ops.instruction[each] == self.ops.instruction[row] and each < row
                for each in makers
            ):
                continue
            if makers or not self._is_there(row, value):
                yield makers

    def _is_there(self, row: int, value: int) -> bool:
        """Whether a value that nobody makes on the rank is there from the start."""
        kind = value >> 56
        alone = self.ops.bracket[row] != Bracket.GROUP or not self.writers.get(
            (int(self.ops.rank[row]), value)
        )
        given = kind in (int(each) for each in _GIVEN) and value not in self.loaded
        return alone and (self.run.schedule.fragment or kind == int(ValueKind.NAME) or given)

    def _stage(self, row: int) -> Iterator[frozenset[int]]:
        """Yield what must be done of the row's own stage, each a set of which one is enough."""
        segments = self.run.schedule.segments
        kind, microbatch = Kind(int(self.ops.kind[row])), int(self.ops.microbatch[row])
        place = microbatch % segments
        wanted: list[tuple[tuple[Kind, ...], int]] = []
        if kind is Kind.W and self.made[self._key(row, Kind.I, 0)]:
            wanted.append(((Kind.I,), 0))
        elif kind in (*BACKWARDS, Kind.R):
            wanted.append(((Kind.F,), 0))
        if kind is Kind.F and place > 0:
            wanted.append(((Kind.F,), -1))
        if kind in (Kind.B, Kind.I) and segments > 1:
            wanted += [((Kind.F,), segment - place) for segment in range(segments)]
            if place < segments - 1:
                wanted.append(((Kind.B, Kind.I), 1))
        for kinds, shift in wanted:
            makers = [m for each in kinds for m in self.made[self._key(row, each, shift)]]
            if makers:
                yield frozenset(self.ops.instruction[makers].tolist())

    def _lacks(self, row: int) -> bool:
        """Whether the forward that a backward or a recomputation needs stands nowhere."""
        kind = Kind(int(self.ops.kind[row]))
        if kind not in (*BACKWARDS, Kind.R) or self.run.schedule.fragment:
            return False
        return not self.made[self._key(row, Kind.F, 0)]


def row_order(run: AsRun, order: Mapping[int, Sequence[int]]) -> IntArray:
    """Return the rows of a schedule in which ready ranks run their instructions in an order.

    Instructions that are not in it are left out. Every row keeps its place in the file.

    Args:
        run: the schedule.
        order: the instructions of each ready rank.
    """
    rows = [np.zeros(0, np.int64)]
    bounds = np.append(run.operations.first_row, len(run.operations))
    for rank in range(run.schedule.ranks):
        if rank in order:
            rows += [np.arange(bounds[each], bounds[each + 1]) for each in order[rank]]
        else:
            low, high = run.rank_start[rank], run.rank_start[rank + 1]
            rows.append(np.arange(bounds[low], bounds[high]))
    return np.concatenate(rows)
