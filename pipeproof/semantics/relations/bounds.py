"""How much is live at once: forwards that wait for their backward, buffers held, bytes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pipeproof.ir.accesses import known
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, first_of
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding, program_end

if TYPE_CHECKING:
    from pipeproof.ir.schedule import Plain

__all__ = ["bound", "left_over", "lifetimes", "overfull", "unfreed"]


def bound(frame: Frame, name: str) -> str | None:
    """Return what the file says of a bound, None where it does not stand."""
    said: Plain = frame.run.schedule.described.get("bounds", {})
    value = said.get(name) if isinstance(said, Mapping) else None
    return value if isinstance(value, str) else None


def lifetimes(frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the first forward of each stage and microbatch on a rank, and where its life ends.

    That is the row of the last B, or W where the backward is split; -1 where none stands.
    """
    forwards = known(frame.run, Kind.F)
    key, first = first_of(_own(frame, forwards))
    forwards = forwards[first]
    whole, halves = known(frame.run, Kind.B), known(frame.run, Kind.W)
    split = known(frame.run, Kind.I)
    whole = whole[~among(_own(frame, whole), _own(frame, split))]
    last = np.full(len(key), -1, np.int64)
    for rows in (whole, halves):
        at = np.searchsorted(key, _own(frame, rows))
        inside = at < len(key)
        inside[inside] = key[at[inside]] == _own(frame, rows)[inside]
        np.maximum.at(last, at[inside], rows[inside])
    return forwards, np.where(last < forwards, -1, last)


def _own(frame: Frame, rows: IntArray) -> IntArray:
    ops, total = frame.ops, frame.run.microbatches + 1
    stages = frame.run.schedule.stages
    return np.asarray((ops.rank[rows] * stages + ops.stage[rows]) * total + ops.microbatch[rows])


def overfull(frame: Frame) -> Findings:
    """No more forwards, and buffers held, are live on a rank than its bound allows.

    All of them start and end on the rank's program, so its order alone decides.
    """
    said = bound(frame, "live")
    if said is None:
        return Findings(0)
    ops, most = frame.ops, int(said)
    forwards, last = lifetimes(frame)
    held = np.flatnonzero(ops.is_kind(Kind.HOLD, Kind.DROP))
    change = np.zeros(2 * frame.instructions + 1, np.int64)
    np.add.at(change, frame.start(forwards), 1)
    np.add.at(change, frame.done(last[last >= 0]), -1)
    count = _counts(frame, held)
    adds = ops.is_kind(Kind.HOLD)[held]
    np.add.at(change, frame.start(held[adds]), count[adds])
    np.add.at(change, frame.done(held[~adds]), -count[~adds])
    live = np.cumsum(change)
    base = np.concatenate(([0], live))[2 * frame.run.rank_start[:-1]]
    live = live[: 2 * frame.instructions] - np.repeat(base[frame.instruction_rank], 2)
    starts = np.sort(np.concatenate((forwards, held[adds])))
    wrong = starts[live[frame.start(starts)] > most]
    found = [
        finding(frame, row, why=_why(frame, row, int(live[2 * ops.instruction[row]]), most))
        for row in wrong.tolist()
    ]
    return Findings(len(starts), found)


def _why(frame: Frame, row: int, live: int, most: int) -> str:
    return f"makes {live} live on rank {frame.ops.rank[row]}, more than {most}"


def _counts(frame: Frame, rows: IntArray) -> IntArray:
    """Return how many buffers each HOLD or DROP is about."""
    said = (frame.ops.attributes.get(row, {}).get("count", "1") for row in rows.tolist())
    return np.asarray([int(each) for each in said], np.int64)


def left_over(frame: Frame) -> dict[int, int]:
    """Return, for each rank with a HOLD or DROP, what it holds at the end of its program."""
    ops = frame.ops
    rows = np.flatnonzero(ops.is_kind(Kind.HOLD, Kind.DROP))
    sign = np.where(ops.is_kind(Kind.HOLD)[rows], 1, -1)
    held: dict[int, int] = {}
    for rank, change in zip(ops.rank[rows].tolist(), sign * _counts(frame, rows), strict=True):
        held[rank] = held.get(rank, 0) + int(change)
    return held


def unfreed(frame: Frame) -> Findings:
    """What is held is dropped by the end of the program."""
    held = left_over(frame)
    found = [
        Finding((program_end(frame, rank),), {"rank": str(rank), "left": str(left)})
        for rank, left in sorted(held.items())
        if left > 0
    ]
    return Findings(len(held), found)
