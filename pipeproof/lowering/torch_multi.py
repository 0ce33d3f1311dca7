"""The slot-locked base runtime of torch, `PipelineScheduleMulti`, slot by slot.

At every slot a rank runs its own action, looks at the actions of its neighbours at the same slot
and receives what they send, all in one call that it waits for. Nothing checks that a value has
been received: its reader has to stand at a later slot than its maker.

Source: torch 2.13.0, torch/distributed/pipelining/schedules.py, `PipelineScheduleMulti`,
`_step_microbatches`.
"""

import numpy as np

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule, Slots, neighbours
from pipeproof.lowering._calls import Calls, Message
from pipeproof.lowering._lowered import Lowered

__all__ = ["lower"]

_Place = tuple[int, int]
_FORWARD = (Kind.SEND_F, Kind.RECV_F)
_BACKWARD = (Kind.SEND_B, Kind.RECV_B)


def lower(schedule: Schedule, placement: tuple[int, ...]) -> Lowered:
    """Lower a computation order with its slots, bubbles counted.

    A rank walks its own row only, and nothing is handed over between two stages of a rank: it
    sends to itself.

    Raises:
        UnsupportedFeatureError: the order has no slots.
    """
    if schedule.slots is None:
        message = "torch-multi is locked to slots, and this order has no bubbles: dump it as a CSV"
        raise UnsupportedFeatureError(message)
    slots = schedule.slots
    at = _slots(schedule, slots)
    sent, received = _messages(schedule, placement, at)
    calls = Calls(schedule.operations)
    for rank in range(schedule.ranks):
        calls.begin(rank)
        here = {slot for own, slot in received if own == rank and slot < slots.widths[rank]}
        for slot in sorted(here | at[rank].keys()):
            for row in at[rank].get(slot, []):
                calls.compute(row)
            place = (rank, slot)
            calls.wait(calls.post(sent.get(place, []) + received.get(place, [])))
    return calls.lowered()


def _slots(schedule: Schedule, slots: Slots) -> list[dict[int, list[int]]]:
    """Return for each rank the rows at each slot."""
    ops = schedule.operations
    found: list[dict[int, list[int]]] = [{} for _ in range(schedule.ranks)]
    for row in np.arange(len(ops)).tolist():
        found[int(ops.rank[row])].setdefault(int(slots.of_row[row]), []).append(row)
    return found


def _messages(
    schedule: Schedule, placement: tuple[int, ...], at: list[dict[int, list[int]]]
) -> tuple[dict[_Place, list[Message]], dict[_Place, list[Message]]]:
    """Return what each rank sends and receives at each slot; receives by the rank they are from."""
    ops = schedule.operations
    before, after = neighbours(schedule)
    sent: dict[_Place, list[Message]] = {}
    received: dict[_Place, list[Message]] = {}
    for rank, slots in enumerate(at):
        for slot, rows in slots.items():
            for row in rows:
                kind, stage, microbatch = (
                    int(c[row]) for c in (ops.kind, ops.stage, ops.microbatch)
                )
                forward = kind == Kind.F
                if stage >= schedule.stages or not (forward or kind in (Kind.B, Kind.I)):
                    continue
                reader = after[stage] if forward else before[stage]
                if reader < 0:
                    continue
                send, receive = _FORWARD if forward else _BACKWARD
                sent.setdefault((rank, slot), []).append((send, stage, microbatch))
                there = (placement[reader], slot)
                received.setdefault(there, []).append((receive, reader, microbatch))
    return sent, received
