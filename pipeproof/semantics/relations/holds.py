"""What is live on a rank, from what puts it there until nobody needs it any more."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.accesses import Access, gradients_of_weights, supply, writes
from pipeproof.ir.operations import IntArray
from pipeproof.ir.schedule import Plain
from pipeproof.ir.sets import among, numbered, ordinal_in_group
from pipeproof.ir.sizes import UNIT, read_size
from pipeproof.ir.values import MAX_STAGE, ValueKind
from pipeproof.semantics.found import Holds
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.bounds import bound, lifetimes
from pipeproof.semantics.versions import Versions

__all__ = ["KINDS", "memory"]

KINDS = ("activations", "gradients", "kept", "versions", "accumulators", "optimizer state")
_SIZES = ("F", "B", "keep", "weights", "grads", "state")


class _Part(NamedTuple):
    """Holds of one kind: rows, stages, starts, and the ends of each by its index."""

    kind: int
    rank: IntArray
    start: IntArray
    rows: IntArray
    stage: IntArray
    ends: IntArray
    of: IntArray


def memory(frame: Frame) -> Holds:
    """Return all that is live on each rank, weighed by `sizes` where they stand.

    Activations and gradients live from the start of what puts them on the rank (a receive: from
    its post) until every reader there is done; what a forward keeps until its backward, or its
    weight gradient, is done; one version of the weights, accumulators and optimizer state all the
    time; a second version from the STEP that supersedes it to its last reader.
    """
    parts = [*_values(frame), _kept(frame), *_constants(frame), _retained(frame)]
    sizes = frame.run.schedule.described.get("sizes")
    weight = np.concatenate([_weights(frame, part, sizes) for part in parts])
    offsets = np.cumsum([0, *(len(part.rows) for part in parts)])
    said = bound(frame, "memory")
    return Holds(
        kinds=KINDS,
        rank=np.concatenate([part.rank for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        rows=np.concatenate([part.rows for part in parts]),
        kind=np.concatenate([np.full(len(part.rows), part.kind) for part in parts]),
        weight=weight,
        ends=np.concatenate([part.ends for part in parts]),
        of=np.concatenate([part.of + off for part, off in zip(parts, offsets, strict=False)]),
        bound=None if said is None or sizes is None else read_size(said),
        unit=UNIT,
    )


def _weights(frame: Frame, part: _Part, sizes: Plain | None) -> npt.NDArray[np.object_]:
    """Return what each hold weighs, in parts of a byte; 0 where no size stands."""
    said = sizes.get(_SIZES[part.kind]) if isinstance(sizes, Mapping) else None
    stages = max(frame.run.schedule.stages, 1)
    if isinstance(said, str):
        each = [read_size(said)] * stages
    elif isinstance(said, tuple):
        each = [read_size(str(one)) for one in said]
    else:
        each = [0] * stages
    return np.asarray([*each, 0], object)[np.minimum(part.stage, stages)]


def _values(frame: Frame) -> list[_Part]:
    """Return the activations and the gradients that are put on a rank, with all their readers."""
    ops = frame.ops
    puts = writes(frame.run)
    chosen = among(puts.values >> 56, (ValueKind.F, ValueKind.B))
    puts = Access(puts.rows[chosen], puts.values[chosen])
    reading, given = frame.supplied
    late = gradients_of_weights(frame.run)
    more = supply(ops, late, puts)
    readers = np.concatenate((reading.rows, late.rows))
    values = np.concatenate((reading.values, late.values))
    writer = np.concatenate((given.writer, more.writer))
    of = _holds_of(puts, writer, values)
    rows = np.concatenate((puts.rows, readers[of >= 0]))
    ends, of = _over(frame, rows, np.concatenate((np.arange(len(puts.rows)), of[of >= 0])))
    what = puts.values >> 56
    return [
        _chosen(frame, puts, what == kind, (number, ends, of))
        for number, kind in enumerate((ValueKind.F, ValueKind.B))
    ]


def _chosen(
    frame: Frame,
    puts: Access,
    chosen: npt.NDArray[np.bool_],
    rest: tuple[int, IntArray, IntArray],
) -> _Part:
    kind, ends, of = rest
    rows = puts.rows[chosen]
    index = np.cumsum(chosen) - 1
    own = chosen[of]
    stage = (puts.values[chosen] >> 32) & MAX_STAGE
    return _Part(
        kind, frame.ops.rank[rows], frame.start(rows), rows, stage, ends[own], index[of[own]]
    )


def _holds_of(puts: Access, writer: IntArray, values: IntArray) -> IntArray:
    """Return for each read the index of the put that supplies it, -1 for none."""
    _, number = numbered(np.concatenate((puts.values, values)))
    size = int(number.max(initial=0)) + 1
    key = puts.rows * size + number[: len(puts.rows)]
    order = np.argsort(key)
    own = writer * size + number[len(puts.rows) :]
    at = np.minimum(np.searchsorted(key[order], own), max(len(key) - 1, 0))
    if not len(key):
        return np.full(len(own), -1, np.int64)
    return np.where((key[order][at] == own) & (writer >= 0), order[at], -1)


def _over(frame: Frame, rows: IntArray, of: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ends of each row, and their holds: a message has moved, and its call is done.

    A later start on the rank stands behind the call anyway; where guards run in a circle, they
    may put the move before its own post.
    """
    message = np.flatnonzero(frame.run.is_message[rows])
    moved = frame.completed(rows[message])
    return np.concatenate((frame.done(rows), moved)), np.concatenate((of, of[message]))


def _kept(frame: Frame) -> _Part:
    """Return what forwards keep; nothing where there is no backward at all."""
    forwards, last = lifetimes(frame)
    if frame.run.schedule.forward_only:
        forwards, last = forwards[:0], last[:0]
    ends = frame.done(last[last >= 0])
    return _Part(
        KINDS.index("kept"),
        frame.ops.rank[forwards],
        frame.start(forwards),
        forwards,
        frame.ops.stage[forwards],
        ends,
        np.flatnonzero(last >= 0),
    )


def _constants(frame: Frame) -> list[_Part]:
    """Return what every stage holds all the time."""
    stage = np.arange(frame.run.schedule.stages)
    rank = np.asarray(frame.run.placement, np.int64)
    begins = 2 * frame.run.rank_start[rank]
    start = np.where(begins < 2 * frame.run.rank_start[rank + 1], begins, frame.ends + rank)
    none = np.zeros(0, np.int64)
    rows = np.full(len(stage), -1, np.int64)
    return [
        _Part(KINDS.index(name), rank, start, rows, stage, none, none)
        for name in ("versions", "accumulators", "optimizer state")
    ]


def _retained(frame: Frame) -> _Part:
    """Return the versions that are no longer current and still to be read, or current again.

    A STEP after which nobody reads the version before it makes the next one in its place. Of
    several parameters, versions of one number are one version of their stage.
    """
    versions = frame.versions
    first, last, version = _superseded(versions)
    stage = versions.stage[versions.weight[version]]
    turn = ordinal_in_group(version)
    _, key = numbered(stage)
    for each in (versions.number[version], _generation(versions)[version], turn):
        _, key = numbered(key * (int(each.max(initial=0)) + 1) + each)
    begins = np.full(int(key.max(initial=-1)) + 1, len(frame.ops), np.int64)
    closes = np.full(len(begins), -1, np.int64)
    np.minimum.at(begins, key, first)
    np.maximum.at(closes, key, last)
    return _Part(
        KINDS.index("versions"),
        frame.ops.rank[begins],
        frame.start(begins),
        begins,
        frame.ops.stage[begins],
        frame.done(closes),
        np.arange(len(begins)),
    )


def _superseded(versions: Versions) -> tuple[IntArray, IntArray, IntArray]:
    """Return where a version is superseded, the last that still needs it, and the version.

    Those that nobody needs then are left out. A version that becomes current again is needed
    until then.
    """
    weight, row, version = versions.changes
    order = np.lexsort((row, weight))
    weight, row, version = weight[order], row[order], version[order]
    fresh = np.diff(weight, prepend=-1) != 0
    before = np.where(fresh, weight, np.roll(version, 1))
    reader = np.full(len(versions.number), -1, np.int64)
    np.maximum.at(reader, versions.reads.versions, versions.reads.rows)
    size = len(versions.run.operations) + 1
    restored = np.sort(version * size + row)
    at = np.searchsorted(restored, before * size + row + 1)
    there = at < len(restored)
    there[there] = restored[at[there]] // size == before[there]
    needed = reader[before]
    needed[there] = restored[at[there]] % size
    still = needed > row
    return row[still], needed[still], before[still]


def _generation(versions: Versions) -> IntArray:
    """Number the versions of one weight that have one number: a withdrawn one, one made anew."""
    size = int(versions.number.max(initial=0)) + 1
    order = np.lexsort((versions.made, versions.number, versions.weight))
    generation = np.empty(len(order), np.int64)
    generation[order] = ordinal_in_group((versions.weight * size + versions.number)[order])
    return generation
