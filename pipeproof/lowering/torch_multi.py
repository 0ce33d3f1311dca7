"""The slot-locked base runtime of torch, `PipelineScheduleMulti`, slot by slot.

At every slot a rank runs its own action, looks at the actions of its neighbours at the same slot
and receives what they send, all in one call that it waits for. Nothing checks that a value has
been received: its reader has to stand at a later slot than its maker.

Source: torch 2.13.0, torch/distributed/pipelining/schedules.py, `PipelineScheduleMulti`,
`_step_microbatches`.
"""

from typing import TYPE_CHECKING

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule, neighbours
from pipeproof.lowering._calls import Calls, Message
from pipeproof.lowering._lowered import Lowered

if TYPE_CHECKING:
    from pipeproof.ir.operations import IntArray

__all__ = ["lower"]


def lower(schedule: Schedule, placement: tuple[int, ...]) -> Lowered:
    """Lower a computation order with its slots; without slots, positions are the slots."""
    at = _slots(schedule)
    calls = Calls(schedule.operations)
    last = max((slot for slots in at for slot in slots), default=-1)
    for rank in range(schedule.ranks):
        calls.begin(rank)
        for slot in range(last + 1):
            rows = at[rank].get(slot, [])
            for row in rows:
                calls.compute(row)
            messages = [m for row in rows for m in _sent(schedule, placement, row)]
            for other in range(schedule.ranks):
                if other != rank:
                    messages += _received(schedule, placement, rank, at[other].get(slot, []))
            calls.wait(calls.post(messages))
    return calls.lowered()


def _slots(schedule: Schedule) -> list[dict[int, list[int]]]:
    """Return for each rank the rows at each slot."""
    ops = schedule.operations
    slot: IntArray = ops.position if schedule.slots is None else schedule.slots
    found: list[dict[int, list[int]]] = [{} for _ in range(schedule.ranks)]
    for row in np.arange(len(ops)).tolist():
        found[int(ops.rank[row])].setdefault(int(slot[row]), []).append(row)
    return found


def _link(schedule: Schedule, row: int) -> tuple[Kind, int, int, int] | None:
    """Return the kind of send behind a computation, its stage, its reader's stage, microbatch."""
    ops = schedule.operations
    before, after = neighbours(schedule)
    kind, stage, microbatch = (int(c[row]) for c in (ops.kind, ops.stage, ops.microbatch))
    if stage >= schedule.stages:
        return None
    if kind == Kind.F and after[stage] >= 0:
        return Kind.SEND_F, stage, after[stage], microbatch
    if kind in (Kind.B, Kind.I) and before[stage] >= 0:
        return Kind.SEND_B, stage, before[stage], microbatch
    return None


def _sent(schedule: Schedule, placement: tuple[int, ...], row: int) -> list[Message]:
    link = _link(schedule, row)
    if link is None or placement[link[2]] == placement[link[1]]:
        return []
    return [(link[0], link[1], link[3])]


def _received(
    schedule: Schedule, placement: tuple[int, ...], rank: int, rows: list[int]
) -> list[Message]:
    found: list[Message] = []
    for row in rows:
        link = _link(schedule, row)
        if link is None or placement[link[2]] != rank or placement[link[1]] == rank:
            continue
        kind = Kind.RECV_F if link[0] is Kind.SEND_F else Kind.RECV_B
        found.append((kind, link[2], link[3]))
    return found
