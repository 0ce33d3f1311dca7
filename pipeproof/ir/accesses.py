"""What operations read and write: the one table of it (assumption A11)."""

from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Bracket, IntArray, Operations
from pipeproof.ir.schedule import Schedule, neighbours
from pipeproof.ir.sets import among, numbered
from pipeproof.ir.values import ValueKind, read_value

__all__ = [
    "TORCH_PROFILES",
    "Access",
    "Supply",
    "awaited_reads",
    "codes",
    "early_parts",
    "gradients_of_weights",
    "known",
    "pick",
    "reads",
    "supply",
    "writes",
]


class Access(NamedTuple):
    """Reads or writes: row `rows[k]` touches the value `values[k]`, both shape `(n,)`."""

    rows: IntArray
    values: IntArray


def codes(kind: ValueKind, stages: IntArray | int, microbatches: IntArray) -> IntArray:
    """Return the codes of values of one kind, elementwise."""
    return np.asarray((int(kind) << 56) | (np.asarray(stages) << 32) | microbatches)


def _join(parts: list[tuple[IntArray, IntArray]]) -> Access:
    if not parts:
        return Access(np.zeros(0, np.int64), np.zeros(0, np.int64))
    rows = np.concatenate([rows for rows, _ in parts])
    values = np.concatenate([values for _, values in parts])
    order = np.argsort(rows, kind="stable")
    return Access(rows[order], values[order])


def known(run: AsRun, *kinds: Kind) -> IntArray:
    """Return the rows of `kinds` whose stage and microbatch exist."""
    ops = run.operations
    exists = (ops.stage >= 0) & (ops.stage < run.schedule.stages) & (ops.microbatch >= 0)
    return np.flatnonzero(ops.is_kind(*kinds) & exists & (ops.microbatch < run.microbatches))


def reads(run: AsRun) -> Access:
    """Return what operations read through a message or a hand-over.

    F reads X.m or the activation of the stage before, and Y.m where it computes the loss; L the
    activation of its pipeline's last stage and Y.m;
    B and I the gradient of the stage after, or L.m where an L stands or a message or WRITE brings
    it to their rank; SEND and USE the value
    they name. What a backward needs of its own stage (what F kept, what I left to W) is no value
    of this table.
    """
    ops, (before, after) = run.operations, neighbours(run.schedule)
    parts: list[tuple[IntArray, IntArray]] = []
    rows = known(run, Kind.F)
    stage, microbatch = np.asarray(before)[ops.stage[rows]], ops.microbatch[rows]
    activation = codes(ValueKind.F, np.maximum(stage, 0), microbatch)
    parts.append((rows, np.where(stage < 0, codes(ValueKind.X, 0, microbatch), activation)))
    rows = known(run, Kind.B, Kind.I)
    stage, microbatch = np.asarray(after)[ops.stage[rows]], ops.microbatch[rows]
    gradient = codes(ValueKind.B, np.maximum(stage, 0), microbatch)
    taken = np.where(stage < 0, codes(ValueKind.L, 0, microbatch), gradient)
    read = (stage >= 0) | among(microbatch, ops.microbatch[ops.is_kind(Kind.L)])
    read |= among(_on_rank(ops, rows, taken), _brought(ops))
    parts.append((rows[read], taken[read]))
    rows = known(run, Kind.L)
    last = np.asarray(_lasts(run.schedule))
    parts.append((rows, codes(ValueKind.F, last[ops.stage[rows]], ops.microbatch[rows])))
    rows = np.concatenate((rows, _losing(run)))
    parts.append((rows, codes(ValueKind.Y, 0, ops.microbatch[rows])))
    rows = np.flatnonzero(ops.is_kind(Kind.SEND) & (ops.value >= 0))
    parts.append((rows, ops.value[rows]))
    parts.append(_named(ops, Kind.USE))
    return _join(parts)


def _on_rank(ops: Operations, rows: IntArray, values: IntArray) -> IntArray:
    return np.asarray(ops.rank[rows] + (values & 0xFFFFFFFF) * (int(ops.rank.max(initial=0)) + 1))


def _brought(ops: Operations) -> IntArray:
    """Return on which ranks a message or a WRITE puts which losses, as numbers of `_on_rank`."""
    received = np.flatnonzero(ops.is_kind(Kind.RECV) & (ops.value >= 0))
    written, values = _named(ops, Kind.WRITE)
    rows = np.concatenate((received, written))
    values = np.concatenate((ops.value[received], values))
    losses = values >> 56 == ValueKind.L
    return _on_rank(ops, rows[losses], values[losses])


def early_parts(run: AsRun) -> IntArray:
    """Return the parts of one operation that are not its last: what it makes is not there yet.

    F with different `bucket`, and B or I with different `param` or each with `c`, are parts of one.
    A part that stands again begins the operation anew.
    """
    ops = run.operations
    early: list[int] = []
    open_: dict[tuple[int, int, int, int], list[tuple[int, str]]] = {}
    for row in sorted(row for row, said in ops.attributes.items() if _PARTS & said.keys()):
        kind, said = Kind(int(ops.kind[row])), ops.attributes[row]
        name = said.get("bucket") if kind is Kind.F else said.get("param", f"c {row}")
        if kind not in (Kind.F, Kind.B, Kind.I) or name is None:
            continue
        key = (int(kind), int(ops.rank[row]), int(ops.stage[row]), int(ops.microbatch[row]))
        parts = open_.setdefault(key, [])
        if any(name == other for _, other in parts):
            parts.clear()
        early.extend(other for other, _ in parts[-1:])
        parts.append((row, name))
    return np.asarray(early, np.int64)


def writes(run: AsRun) -> Access:
    """Return what operations put on their rank: F, B, I and L what they make, RECV, LOAD, WRITE.

    Where no L stands for a microbatch, the F of its last stage makes the loss. An operation in
    parts makes what it makes with the last of them.
    """
    early = early_parts(run)
    made = _writes(run)
    late = ~among(made.rows, early)
    return Access(made.rows[late], made.values[late]) if len(early) else made


def _writes(run: AsRun) -> Access:
    ops = run.operations
    parts: list[tuple[IntArray, IntArray]] = []
    rows = known(run, Kind.F)
    parts.append((rows, codes(ValueKind.F, ops.stage[rows], ops.microbatch[rows])))
    rows = _losing(run)
    parts.append((rows, codes(ValueKind.L, 0, ops.microbatch[rows])))
    rows = known(run, Kind.B, Kind.I)
    parts.append((rows, codes(ValueKind.B, ops.stage[rows], ops.microbatch[rows])))
    rows = known(run, Kind.L)
    parts.append((rows, codes(ValueKind.L, 0, ops.microbatch[rows])))
    rows = np.flatnonzero(ops.is_kind(Kind.RECV, Kind.LOAD) & (ops.value >= 0))
    parts.append((rows, ops.value[rows]))
    parts.append(_named(ops, Kind.WRITE))
    return _join(parts)


def _losing(run: AsRun) -> IntArray:
    """Return the forwards that compute the loss: a last stage's, of microbatches without an L."""
    ops, (_, after) = run.operations, neighbours(run.schedule)
    rows = known(run, Kind.F)
    unwritten = ~among(ops.microbatch[rows], ops.microbatch[ops.is_kind(Kind.L)])
    return np.asarray(rows[unwritten & (np.asarray(after)[ops.stage[rows]] < 0)])


def _lasts(schedule: Schedule) -> list[int]:
    """Return for each stage the last one of its pipeline."""
    last = list(range(schedule.stages))
    for line in schedule.lines:
        for stage in line:
            last[stage] = line[-1]
    return last


def _named(ops: Operations, kind: Kind) -> tuple[IntArray, IntArray]:
    rows, values = [], []
    for row in np.flatnonzero(ops.is_kind(kind)):
        text = ops.attributes.get(int(row), {}).get("written", "")
        value = read_value(text)
        if isinstance(value, str):
            continue
        what, stage, microbatch = value
        if what is ValueKind.NAME:
            if text not in ops.names:
                continue
            microbatch = ops.names.index(text)
        rows.append(int(row))
        values.append((int(what) << 56) | (stage << 32) | microbatch)
    return np.asarray(rows, np.int64), np.asarray(values, np.int64)


_PARTS = frozenset(("bucket", "param", "c"))
TORCH_PROFILES = frozenset(("torch-runtime", "torch-multi", "torch-single"))
"""Profiles whose runtime is torch's own."""


def gradients_of_weights(run: AsRun) -> Access:
    """Return what weight gradients read of the gradient of the stage after them.

    A W that names its storage (`gin`) does, and the W of a first stage under torch's profiles,
    whose I leaves the whole backward to it.

    Source: torch 2.13.0, stage.py, `backward_one_chunk` and `backward_weight_one_chunk`.
    """
    ops, (before, after) = run.operations, neighbours(run.schedule)
    rows = known(run, Kind.W)
    named = [row for row, said in ops.attributes.items() if "gin" in said]
    wanted = among(rows, named)
    if run.schedule.profile in TORCH_PROFILES:
        half = known(run, Kind.I)
        own = ops.stage * run.microbatches + ops.microbatch
        first = np.asarray((*before, 0))[ops.stage[rows]] < 0
        wanted |= first & among(own[rows], own[half])
    rows = rows[wanted & (np.asarray((*after, 0))[ops.stage[rows]] >= 0)]
    stage = np.asarray((*after, 0))[ops.stage[rows]]
    return Access(rows, codes(ValueKind.B, stage, ops.microbatch[rows]))


def awaited_reads(run: AsRun) -> Access:
    """Return every read that a receive without a handle completes for, where waits are at use.

    Beside `reads`, the extra input of an F that names its storage, and what W reads of a gradient.
    """
    ops, direct, late = run.operations, reads(run), gradients_of_weights(run)
    extra = np.asarray([row for row, said in ops.attributes.items() if "aux" in said], np.int64)
    extra = extra[among(extra, known(run, Kind.F))]
    if not len(late.rows) and not len(extra):
        return direct
    inputs = (extra, codes(ValueKind.A, 0, ops.microbatch[extra]))
    return _join([(direct.rows, direct.values), (late.rows, late.values), inputs])


class Supply(NamedTuple):
    """Who supplies each read, all shape `(n,)`.

    `writer[k]` is the row that last writes the value on the reader's rank before it, -1 if none;
    `later[k]` the row that first writes it there afterwards, -1 if none.
    """

    writer: IntArray
    later: IntArray


def supply(ops: Operations, reading: Access, writing: Access) -> Supply:
    """Find for each read the nearest write of its value on its rank, before and after it.

    Members of one group take place together, so none comes before another; members of an
    overlap run in their written order.
    """
    keys = _key(ops, np.concatenate((writing.rows, reading.rows)), (writing, reading))
    wkey, rkey = keys[: len(writing.rows)], keys[len(writing.rows) :]
    size = len(ops) + 1
    order = np.argsort(wkey * size + writing.rows)
    where = (wkey * size + writing.rows)[order]
    limit = ops.first_row[ops.instruction[reading.rows]]
    limit = np.where(ops.bracket[reading.rows] == Bracket.OVERLAP, reading.rows, limit)
    at = np.searchsorted(where, rkey * size + limit) - 1
    writer = pick(writing.rows[order], wkey[order], at, rkey)
    later = pick(writing.rows[order], wkey[order], at + 1, rkey)
    own = (later == reading.rows) & (later >= 0)  # a member that writes what it reads itself
    later = np.where(own, pick(writing.rows[order], wkey[order], at + 2, rkey), later)
    return Supply(writer, later)


def _key(ops: Operations, rows: IntArray, both: tuple[Access, Access]) -> IntArray:
    """Number the pairs (rank, value), shape `(rows,)`."""
    values = np.concatenate([access.values for access in both])
    _, number = numbered(values)
    ranks = int(ops.rank.max(initial=0)) + 1
    _, key = numbered(number * ranks + ops.rank[rows])
    return np.asarray(key, np.int64)


def pick(rows: IntArray, keys: IntArray, at: IntArray, wanted: IntArray) -> IntArray:
    """Return `rows[at]` where its key is the wanted one, -1 elsewhere and outside."""
    inside = (at >= 0) & (at < len(rows))
    safe = np.where(inside, at, 0)
    if not len(rows):
        return np.full(len(at), -1, np.int64)
    return np.asarray(np.where(inside & (keys[safe] == wanted), rows[safe], -1))
