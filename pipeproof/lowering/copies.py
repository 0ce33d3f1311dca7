"""Several optimizer steps: the programs one after the other, with the ids running on."""

from types import MappingProxyType

import numpy as np

from pipeproof.ir.operations import IntArray, Operations, read_only
from pipeproof.ir.values import ValueKind

__all__ = ["repeat"]


def repeat(
    ops: Operations, copies: int, microbatches: int
) -> tuple[Operations, IntArray, IntArray]:
    """Return `copies` of the programs, the row each row comes from, and the copy it stands in.

    In copy c every microbatch id is c · `microbatches` higher; names stay.
    """
    rows = np.arange(len(ops))
    if copies == 1:
        return ops, read_only(rows), read_only(np.zeros(len(ops)))
    from_row = np.tile(rows, copies)
    copy = np.repeat(np.arange(copies), len(ops))
    order = np.lexsort((from_row, copy, ops.rank[from_row]))
    from_row, copy = from_row[order], copy[order]
    length = np.zeros(int(ops.rank.max(initial=0)) + 1, np.int64)
    np.maximum.at(length, ops.rank, ops.position + 1)
    columns = {name: getattr(ops, name)[from_row] for name in _COLUMNS}
    columns["position"] = columns["position"] + copy * length[columns["rank"]]
    shift = copy * microbatches
    columns["microbatch"] = np.where(
        columns["microbatch"] >= 0, columns["microbatch"] + shift, columns["microbatch"]
    )
    value = columns["value"]
    numbered = (value >= 0) & ((value >> 56) != int(ValueKind.NAME))
    columns["value"] = np.where(numbered, value + shift, value)
    attributes = {
        int(row): ops.attributes[int(source)]
        for row, source in enumerate(from_row)
        if int(source) in ops.attributes
    }
    repeated = Operations(
        **{name: read_only(column) for name, column in columns.items()},
        attributes=MappingProxyType(attributes),
        comms=ops.comms,
        handles=ops.handles,
        names=ops.names,
        torch_words=ops.torch_words,
    )
    return repeated, read_only(from_row), read_only(copy)


_COLUMNS = (
    *("rank", "position", "member", "kind", "stage", "microbatch"),
    *("value", "peer", "comm", "handle", "bracket"),
)
