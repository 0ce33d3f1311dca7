"""Torch's short messages written out: `3SEND_F1` becomes `SEND F3.1 to=<rank of 4>`."""

import dataclasses

import numpy as np

from pipeproof.ir.accesses import codes
from pipeproof.ir.actions import TORCH_MESSAGES, Kind
from pipeproof.ir.operations import NONE, IntArray, Operations, read_only
from pipeproof.ir.schedule import Schedule, neighbours
from pipeproof.ir.values import ValueKind

__all__ = ["write_out"]


def write_out(schedule: Schedule, placement: tuple[int, ...], ops: Operations) -> Operations:
    """Return `ops`, operations of `schedule`, with every short message written out.

    One whose stage does not exist, or has no neighbour on that side, stays as it is: it links
    nothing (PP103).
    """
    before, after = (np.asarray((*side, NONE)) for side in neighbours(schedule))
    where = np.asarray((*placement, NONE))
    stage = np.where(ops.stage < schedule.stages, ops.stage, schedule.stages)
    kind, value, peer = (np.array(column) for column in (ops.kind, ops.value, ops.peer))
    for short in TORCH_MESSAGES:
        rows = np.flatnonzero(ops.is_kind(short))
        own = stage[rows]
        other = (after if short in (Kind.SEND_F, Kind.RECV_B) else before)[own]
        sends = short in (Kind.SEND_F, Kind.SEND_B)
        linked = other != NONE
        rows, own, other = rows[linked], own[linked], other[linked]
        made = ValueKind.F if short in (Kind.SEND_F, Kind.RECV_F) else ValueKind.B
        value[rows] = codes(made, own if sends else other, ops.microbatch[rows])
        peer[rows] = where[other]
        kind[rows] = Kind.SEND if sends else Kind.RECV
    return dataclasses.replace(ops, kind=read_only(kind), value=_column(value), peer=_column(peer))


def _column(array: IntArray) -> IntArray:
    return read_only(array)
