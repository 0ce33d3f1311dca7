"""Where a step is over on all ranks: the order that reaches it, and what still stands there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeproof.execution.checkpoints._trees import CheckpointError
from pipeproof.execution.checkpoints.state import tables_of
from pipeproof.execution.orders import Credits, Events, Guards, Style, extended
from pipeproof.execution.replayer import Replayer
from pipeproof.ir.actions import COMPUTE
from pipeproof.ir.values import microbatch_of

__all__ = ["by_steps", "steps_of", "undrained"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Within:
    """Guards of an execution in which some events do not happen."""

    guards: Guards
    never: npt.NDArray[np.bool_]

    @property
    def size(self) -> int:
        return self.guards.size

    @property
    def before(self) -> _Ints:
        return self.guards.before

    @property
    def after(self) -> _Ints:
        return self.guards.after

    @property
    def credits(self) -> Sequence[Credits]:
        return self.guards.credits

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        return self.guards.held


def by_steps(
    replayer: Replayer, guards: Guards, *, style: Style = Style.ANY, seed: int = 0
) -> list[tuple[int, ...]]:
    """Return an execution in which every rank ends a step before any begins the next.

    Args:
        replayer: what is run.
        guards: what each event waits for.
        style: what is preferred within a step.
        seed: which order of many.

    Raises:
        CheckpointError: an event of one step waits for another of a later one.
    """
    steps = steps_of(replayer)
    events = Events(len(steps), replayer.events.first_transfer)
    happened: list[int] = []
    found = []
    for step in range(int(steps.max(initial=-1)) + 1):
        never = guards.never.copy()
        never[: len(steps)] |= steps > step
        now = extended(_Within(guards, never), events, happened, style=style, seed=seed + step)
        happened.extend(now)
        found.append(now)
        missing = np.setdiff1d(np.flatnonzero(steps <= step), happened)
        if len(missing):
            message = (
                f"no boundary after step {step + 1}: "
                f"{_told(replayer, int(missing[0]))} waits for what comes later"
            )
            raise CheckpointError(message)
    return found


def _told(replayer: Replayer, event: int) -> str:
    events = replayer.events
    if event < events.ends:
        return events.text(events.rows[event // 2][0])
    if event < events.first_transfer:
        return f"the end of rank {event - events.ends}"
    transfer = events.transfers[(event - events.first_transfer) // 2]
    return events.text(transfer.send if transfer.send >= 0 else transfer.receive)


def steps_of(replayer: Replayer) -> _Ints:
    """Return the step, from 0, of each event, shape `(events,)`.

    A step of a rank ends with the last STEP or SKIP that its stages have for it; without any, with
    the last operation on its microbatches.
    """
    events, of_row = replayer.events, _steps_of_rows(replayer)
    found = np.zeros(len(events), np.int64)
    for number, rows in enumerate(events.rows):
        found[2 * number : 2 * number + 2] = of_row[rows.start : rows.stop].max()
    for number, each in enumerate(events.transfers):
        ends = [row for row in (each.send, each.receive) if row >= 0]
        at = events.first_transfer + 2 * number
        found[at : at + 2] = of_row[ends].max()
    found[events.ends : events.first_transfer] = of_row.max(initial=0)
    return found


def _steps_of_rows(replayer: Replayer) -> _Ints:
    ops, asked = replayer.ops, replayer.asked
    found = np.zeros(len(ops), np.int64)
    most = max((len(each) for each in asked.ends.values()), default=0)
    for rank in range(replayer.run.schedule.ranks):
        own = np.flatnonzero(ops.rank == rank)
        ends = [
            each for (stage, _), each in asked.ends.items() if replayer.run.placement[stage] == rank
        ]
        if not any(ends):
            found[own] = _by_microbatch(replayer, own)
            continue
        last = [max(rows[n] for rows in ends if n < len(rows)) for n in range(max(map(len, ends)))]
        found[own] = np.minimum(np.searchsorted(last, own), most - 1)
    return found


def _by_microbatch(replayer: Replayer, own: _Ints) -> _Ints:
    ops, per_step = replayer.ops, replayer.asked.per_step
    values = np.array([microbatch_of(int(each)) for each in ops.value[own]], np.int64)
    carried = np.where(ops.value[own] >= 0, values, -1)
    about = np.where(ops.microbatch[own] >= 0, ops.microbatch[own], carried)
    return np.asarray(np.maximum.accumulate(np.maximum(about // per_step, 0)))


def undrained(replayer: Replayer) -> Iterator[str]:
    """Yield what an execution holds that a checkpoint of a boundary leaves out."""
    events, done = replayer.events, set(replayer.happened)
    for number, rows in enumerate(events.rows):
        if (2 * number in done) != (2 * number + 1 in done):
            yield f"{events.text(rows[0])} is under way"
    for number, each in enumerate(events.transfers):
        posted = [
            2 * _instruction(replayer, r) in done for r in (each.send, each.receive) if r >= 0
        ]
        moved = [events.first_transfer + 2 * number + n in done for n in range(2)]
        if any([*posted, *moved]) and not all([*posted, *moved]):
            yield f"the message of {events.text(max(each.send, each.receive))} is under way"
    yield from _microbatches(replayer, done)
    gradients = tables_of(replayer)["gradients"]
    if gradients["_running"]:
        yield "a gradient is being reduced or summed"
    for (stage, k), accumulator in replayer.gradients.of.items():
        if accumulator.shares or accumulator.stale:
            yield f"gradient {k} of stage {stage} waits for its update"
    yield from _read_later(replayer, done)


def _instruction(replayer: Replayer, row: int) -> int:
    return int(replayer.ops.instruction[row])


def _microbatches(replayer: Replayer, done: set[int]) -> Iterator[str]:
    """Yield the microbatches that are under way."""
    ops = replayer.ops
    found: dict[int, set[bool]] = {}
    for row in np.flatnonzero(ops.is_kind(*COMPUTE)).tolist():
        is_done = 2 * _instruction(replayer, row) + 1 in done
        found.setdefault(int(ops.microbatch[row]), set()).add(is_done)
    yield from (f"microbatch {m} is under way" for m, states in found.items() if len(states) > 1)


def _read_later(replayer: Replayer, done: set[int]) -> Iterator[str]:
    """Yield what stands in a memory and is read behind the boundary before it is written."""
    touches, cells = replayer.touches, replayer.memory.cells
    written: set[tuple[int, int]] = set()
    for row in range(len(replayer.ops)):
        if 2 * _instruction(replayer, row) in done:
            continue
        for each in touches.reads.get(row, ()):
            touched = each.key in cells and cells[each.key].touched
            if each.key not in written and (touched or not each.given):
                yield f"{replayer.events.text(row)} reads what stands in memory"
        written.update(each.key for each in touches.writes.get(row, ()))
