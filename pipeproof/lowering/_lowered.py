"""Lowered programs as a table, and which of its rows stand in the file."""

from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE, Bracket, IntArray, Operations, read_only
from pipeproof.ir.values import NO_VALUE

__all__ = ["Lowered", "Rows", "assemble"]

_BEHIND = (Kind.SEND_F, Kind.SEND_B, Kind.REDUCE, Kind.RESHARD)


class Rows(NamedTuple):
    """Rows in program order, by rank; `source[k]` is the row as written, -1 for one that is new."""

    rank: IntArray
    kind: IntArray
    stage: IntArray
    microbatch: IntArray
    source: IntArray
    turns: IntArray | None = None


class Lowered(NamedTuple):
    """A schedule with what its author left out.

    `written[k]` is the row as written that row k is, or whose place it takes: a send, reduction
    or RESHARD that of the instruction before it that stands in the file, a receive or UNSHARD
    that of the next. `added` marks rows that stand in no file. `refused` says why the framework
    refuses the order. `turns` is the order in which lowering placed the rows, over all ranks,
    if it kept one: a guess of an order in which they can run.
    """

    operations: Operations
    written: IntArray
    added: npt.NDArray[np.bool_]
    refused: str | None
    turns: IntArray | None = None


def assemble(ops: Operations, rows: Rows, *, refused: str | None, deferred: bool) -> Lowered:
    """Make the table of `rows`, receives moved towards their readers if `deferred`."""
    if deferred:
        from pipeproof.lowering._deferred import defer  # noqa: PLC0415  seldom asked for

        rows, left = defer(ops, rows)
        if left and refused is None:
            refused = "torch refuses this order: a deferred receive has no reader"
    own = rows.source != NONE
    source = np.maximum(rows.source, 0)
    instruction = np.where(own, ops.instruction[source], NONE)
    joined = np.zeros(len(own), np.bool_)
    joined[1:] = own[1:] & (instruction[1:] == instruction[:-1])
    position = np.cumsum(~joined) - 1
    start = np.searchsorted(rows.rank, np.arange(int(rows.rank.max(initial=-1)) + 2))
    position = position - position[np.minimum(start, max(len(own) - 1, 0))][rows.rank]
    none = np.full(len(own), NONE, np.int64)
    operations = Operations(
        rank=read_only(rows.rank),
        position=read_only(position),
        member=read_only(np.where(own, ops.member[source], 0)),
        kind=read_only(rows.kind),
        stage=read_only(rows.stage),
        microbatch=read_only(rows.microbatch),
        value=read_only(np.full(len(own), NO_VALUE)),
        peer=read_only(none),
        comm=read_only(none * 0),
        handle=read_only(none),
        bracket=read_only(np.where(own, ops.bracket[source], int(Bracket.NONE))),
        attributes=MappingProxyType({}),
        torch_words=True,
    )
    return Lowered(operations, _places(rows, own), ~own, refused, rows.turns)


def _places(rows: Rows, own: npt.NDArray[np.bool_]) -> IntArray:
    """Return the row as written whose place each row takes."""
    number = np.arange(len(own))
    standing = np.flatnonzero(own)
    if not len(standing):
        return read_only(np.full(len(own), NONE))
    at = np.searchsorted(standing, number, side="right")
    before = standing[np.maximum(at - 1, 0)]
    after = standing[np.minimum(np.where(own, at - 1, at), len(standing) - 1)]
    left = rows.rank[before] == rows.rank
    right = rows.rank[after] == rows.rank
    behind = np.zeros(len(Kind) + 1, np.bool_)
    behind[list(_BEHIND)] = True
    back = np.where(behind[rows.kind], left, ~right)
    return read_only(rows.source[np.where(own, number, np.where(back, before, after))])
