"""The whole way from a schedule as written to a schedule as run."""

import dataclasses

import numpy as np

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import read_only
from pipeproof.ir.schedule import Schedule
from pipeproof.lowering import copies, messages, placement, storage
from pipeproof.lowering._lowered import Lowered

__all__ = ["lower"]


def lower(schedule: Schedule, *, repeated: int = 1) -> AsRun:
    """Return `schedule` as run: stages placed, messages written in and out, `repeated` copies.

    What the file says is never changed; a computation order gets its messages by the lowering
    that it names.

    Raises:
        UnsupportedFeatureError: that lowering does not take the order.
    """
    placed = placement.resolve(schedule)
    lowered = _messages(schedule, placed)
    ops = messages.write_out(schedule, placed, lowered.operations)
    ops, base, copy = copies.repeat(ops, repeated, schedule.ids_per_step)
    run = AsRun(
        schedule=schedule,
        operations=ops,
        placement=placed,
        copies=repeated,
        spelled=lowered.operations,
        base=base,
        written=read_only(lowered.written[base]),
        added=lowered.added[base],
        copy=copy,
        refused=lowered.refused,
        turns=lowered.turns if repeated == 1 else None,
    )
    stored = storage.write_in(run)
    return run if stored is None else dataclasses.replace(run, storage=stored)


def _messages(schedule: Schedule, placed: tuple[int, ...]) -> Lowered:
    if schedule.lowering != "as-written" and (schedule.steps or 1) > 1:
        message = "a computation order is lowered for one step: write steps: any"
        raise UnsupportedFeatureError(message)
    match schedule.lowering:
        case "as-written":
            ops = schedule.operations
            rows = read_only(np.arange(len(ops)))
            return Lowered(ops, rows, np.zeros(len(ops), np.bool_), None)
        case "torch" | "torch-deferred":
            from pipeproof.lowering import torch  # noqa: PLC0415  only for computation orders

            return torch.lower(schedule, placed, deferred=schedule.lowering == "torch-deferred")
        case "torch-multi":
            from pipeproof.lowering import torch_multi  # noqa: PLC0415

            return torch_multi.lower(schedule, placed)
        case "torch-single":
            from pipeproof.lowering import torch_single  # noqa: PLC0415

            return torch_single.lower(schedule, placed)
        case "just-in-time":
            from pipeproof.lowering import just_in_time  # noqa: PLC0415

            return just_in_time.lower(schedule, placed)
