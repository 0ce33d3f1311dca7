"""For how many optimizer steps a verdict over one holds."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.bounds import bound, left_over, lifetimes
from pipeproof.semantics.relations.sharding import ends_as_it_starts

__all__ = ["ends_sharded_as_it_starts", "left_open", "unended", "uneven"]


def ends_sharded_as_it_starts(frame: Frame) -> bool:
    """Whether every stage is sharded at the end of the programs as at their start."""
    return ends_as_it_starts(frame)


def left_open(frame: Frame) -> tuple[IntArray, IntArray]:
    """Return what no wait of the programs completes: moments, and the ends of their ranks.

    Where each moment comes before its rank's end in every execution, one step decides order,
    messages and storage for any number of steps.
    """
    ops = frame.ops
    waitable = frame.run.is_message | ops.is_kind(Kind.COLL, Kind.TIE)
    waitable |= ops.is_kind(Kind.REDUCE) & (ops.handle >= 0)
    rows = np.flatnonzero(waitable & (frame.awaited < 0))
    message = frame.run.is_message[rows]
    moments = np.full(len(rows), -1, np.int64)
    moments[message] = frame.completed(rows[message])
    return moments, frame.ends + ops.rank[rows]


def uneven(frame: Frame) -> str | None:
    """Return why no number of steps follows from one: SIGNAL and AWAIT, HOLD and DROP differ."""
    ops = frame.ops
    open_: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(ops.is_kind(Kind.SIGNAL, Kind.AWAIT)).tolist():
        rank, peer = int(ops.rank[row]), int(ops.peer[row])
        signal = ops.kind[row] == Kind.SIGNAL
        pair = (rank, peer) if signal else (peer, rank)
        open_[pair] = open_.get(pair, 0) + (1 if signal else -1)
    for (source, destination), number in sorted(open_.items()):
        if number:
            return f"SIGNAL and AWAIT from rank {source} to rank {destination} differ in number"
    for rank, count in sorted(left_over(frame).items()):
        if count:
            return f"HOLD and DROP of rank {rank} differ in number"
    return None


def unended(frame: Frame) -> str | None:
    """Return why a bound on what is live does not carry over: forwards that nothing ends."""
    keeps = bound(frame, "memory") is not None and not frame.run.schedule.forward_only
    if bound(frame, "live") is None and not keeps:
        return None
    forwards, last = lifetimes(frame)
    if np.all(last >= 0):
        return None
    rank = int(frame.ops.rank[forwards[last < 0]].min())
    return f"a forward of rank {rank} is live for ever: its backward stands nowhere"
