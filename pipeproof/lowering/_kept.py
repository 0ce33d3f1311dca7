"""What forwards keep for their backward, and who reads it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.accesses import Access, known, pick
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Bracket, IntArray
from pipeproof.ir.sets import among, distinct
from pipeproof.ir.storage import kept_code
from pipeproof.ir.values import ValueKind
from pipeproof.lowering._pools import Pools

__all__ = ["Keeps", "Reads", "kept_contents", "kept_reads"]


class Keeps(NamedTuple):
    """Forwards that keep something in named storage or a slot, all of shape `(n,)`.

    `put` marks those that write it there; the others keep what is there at their end: their
    input or output.
    """

    rows: IntArray
    storage: IntArray
    values: IntArray
    put: npt.NDArray[np.bool_]


class Reads(NamedTuple):
    """Reads of what is kept, each of shape `(n,)`.

    The rows, the storage, the content, and the forward that left its input or output there, -1
    for one that put what it keeps there.
    """

    rows: IntArray
    storage: IntArray
    values: IntArray
    left_by: IntArray


def kept_contents(
    run: AsRun, named: Mapping[str, IntArray], pools: Pools, reading: Access, of: IntArray
) -> Keeps:
    """Return what each forward keeps, and where.

    Args:
        run: the schedule.
        named: for each attribute the storage that it names, by row, -1 without.
        pools: where the stash is.
        reading: all reads.
        of: the storage of each read.
    """
    ops = run.operations
    rows = known(run, Kind.F)
    storage = pools.stash(rows, named["keep"][rows])
    rows, storage = rows[storage >= 0], storage[storage >= 0]
    inputs = ops.is_kind(Kind.F)[reading.rows] & ((reading.values >> 56) != int(ValueKind.Y))
    inputs &= of >= 0
    places = int(max(of.max(initial=0), storage.max(initial=0))) + 1
    own = rows * places + storage
    put = ~among(own, reading.rows[inputs] * places + of[inputs])
    put &= named["out"][rows] != storage
    return Keeps(rows, storage, kept_code(ops.stage[rows], ops.microbatch[rows]), put)


def kept_reads(run: AsRun, keeps: Keeps) -> Reads:
    """Return the reads of what is kept: by B, I, W and R, of the nearest forward before them.

    Parts of a forward that take different buckets each keep their own.
    """
    rows = known(run, Kind.B, Kind.I, Kind.W, Kind.R)
    part = _parts(run)[keeps.rows]
    found = [
        _nearest(run, keeps, np.flatnonzero(part == each), rows) for each in distinct(part).tolist()
    ]
    none = rows[:0]
    found.append(Reads(none, none, none, none))
    return Reads(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _parts(run: AsRun) -> IntArray:
    """Number the bucket that each row takes, 0 for all of them."""
    part = np.zeros(len(run.operations), np.int64)
    numbers: dict[str, int] = {}
    for row, said in run.operations.attributes.items():
        if "bucket" in said:
            part[row] = numbers.setdefault(said["bucket"], len(numbers) + 1)
    return part


def _nearest(run: AsRun, keeps: Keeps, chosen: IntArray, rows: IntArray) -> Reads:
    ops = run.operations
    size, total = len(ops) + 1, run.microbatches + 1

    def key(of: IntArray) -> IntArray:
        stages = run.schedule.stages
        return (ops.rank[of] * stages + ops.stage[of]) * total + ops.microbatch[of]

    makers = keeps.rows[chosen]
    have, own = key(makers), key(rows)
    order = np.lexsort((makers, have))
    makers, have, chosen = makers[order], have[order], chosen[order]
    first = ops.first_row[ops.instruction[rows]]
    limit = np.where(ops.bracket[rows] == Bracket.OVERLAP, rows, first)
    at = np.searchsorted(have * size + makers, own * size + limit) - 1
    maker = pick(chosen, have, at, own)
    rows, maker = rows[maker >= 0], maker[maker >= 0]
    left_by = np.where(keeps.put[maker], -1, keeps.rows[maker])
    return Reads(rows, keeps.storage[maker], keeps.values[maker], left_by)
