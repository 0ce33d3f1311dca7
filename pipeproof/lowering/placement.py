"""Where each stage lives: as the author says, else where the programs run it, else in a loop."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.sets import counted

__all__ = ["resolve"]


def resolve(schedule: Schedule) -> tuple[int, ...]:
    """Return the rank of each stage.

    Where the programs decide, a stage lives on the rank that names it most often (the lowest of
    equals), so that a stray operation is the one out of place; one that no program names lives
    on rank `stage mod ranks`.
    """
    if schedule.placement:
        return schedule.placement
    ops = schedule.operations
    names_stage = ~ops.is_kind(Kind.SEND, Kind.RECV, Kind.LOAD) & (ops.stage >= 0)
    rows = np.flatnonzero(names_stage & (ops.stage < schedule.stages))
    if not len(rows) or not schedule.ranks:
        return tuple(stage % max(schedule.ranks, 1) for stage in range(schedule.stages))
    pairs, counts = counted(ops.stage[rows] * schedule.ranks + ops.rank[rows])
    order = np.lexsort((pairs, -counts))
    placement = [stage % schedule.ranks for stage in range(schedule.stages)]
    for pair in pairs[order][::-1]:
        placement[int(pair) // schedule.ranks] = int(pair) % schedule.ranks
    return tuple(placement)
