"""The whole way from a schedule as written to a schedule as run."""

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.schedule import Schedule
from pipeproof.lowering import copies, messages, placement

__all__ = ["lower"]


def lower(schedule: Schedule, *, repeated: int = 1) -> AsRun:
    """Return `schedule` as run: stages placed, messages written out, `repeated` copies of it.

    What the file says is never changed: nothing is added, dropped or moved in this version but
    the value and the ends of torch's short messages.
    """
    placed = placement.resolve(schedule)
    ops = messages.write_out(schedule, placed)
    ops, written, copy = copies.repeat(ops, repeated, schedule.microbatches)
    return AsRun(schedule, ops, placed, repeated, written, copy)
