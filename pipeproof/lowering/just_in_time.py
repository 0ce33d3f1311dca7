"""The plain lowering of a computation order: receive before the reader, send after the maker."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE
from pipeproof.ir.schedule import Schedule, neighbours
from pipeproof.lowering._lowered import Lowered, Rows, assemble

__all__ = ["lower"]


def lower(schedule: Schedule, placement: tuple[int, ...]) -> Lowered:
    """Lower a computation order: nothing is gathered or reduced, messages stand beside their use.

    Every reader of a value of another rank receives it right before its instruction; every maker
    of a value that another rank reads sends it right after.
    """
    ops = schedule.operations
    home = np.asarray((*placement, NONE))
    before, after = (np.asarray((*side, NONE)) for side in neighbours(schedule))
    stage = np.where(ops.stage < schedule.stages, ops.stage, schedule.stages)
    forward, backward = ops.is_kind(Kind.F), ops.is_kind(Kind.B, Kind.I)
    of = np.where(forward, before[stage], np.where(backward, after[stage], NONE))
    to = np.where(forward, after[stage], np.where(backward, before[stage], NONE))
    receives = np.flatnonzero((of != NONE) & (home[of] != home[stage]))
    sends = np.flatnonzero((to != NONE) & (home[to] != home[stage]))
    number = np.arange(len(ops))
    kinds = (
        np.where(forward[receives], int(Kind.RECV_F), int(Kind.RECV_B)),
        ops.kind,
        np.where(forward[sends], int(Kind.SEND_F), int(Kind.SEND_B)),
    )
    rows = np.concatenate((receives, number, sends))
    phase = np.repeat((0, 1, 2), (len(receives), len(number), len(sends)))
    source = np.where(phase == 1, rows, NONE)
    order = np.lexsort((rows, phase, ops.instruction[rows]))
    rows, source = rows[order], source[order]
    kind = np.concatenate(kinds)[order]
    made = Rows(ops.rank[rows], kind, ops.stage[rows], ops.microbatch[rows], source)
    return assemble(ops, made, refused=None, deferred=False)
