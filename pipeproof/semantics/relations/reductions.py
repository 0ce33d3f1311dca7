"""Reductions of gradients and updates of weights, against what they must come after."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Finding, Findings, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding, program_end
from pipeproof.semantics.relations._windows import contributions, steps_before, window

__all__ = ["early_reductions", "early_updates", "unreduced"]


def _staged(frame: Frame, *kinds: Kind) -> IntArray:
    ops = frame.ops
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    return np.flatnonzero(ops.is_kind(*kinds) & staged)


def _last_contribution(frame: Frame, steps: IntArray) -> dict[tuple[int, int], int]:
    """Return for each (stage, step) the last row that contributes; `steps` is by contribution."""
    rows = contributions(frame)
    last: dict[tuple[int, int], int] = {}
    stage = frame.ops.stage[rows]
    order = np.lexsort((rows, steps, stage))
    stage, steps, rows = stage[order], steps[order], rows[order]
    final = (np.diff(stage, append=-1) != 0) | (np.diff(steps, append=-1) != 0)
    for s, t, row in zip(
        stage[final].tolist(), steps[final].tolist(), rows[final].tolist(), strict=True
    ):
        last[s, t] = row
    return last


def early_reductions(frame: Frame) -> Findings:
    """A gradient is reduced after the last contribution of its step."""
    rows = _staged(frame, Kind.REDUCE)
    if frame.run.schedule.gradients.reduce == "none" or not len(rows):
        return Findings(0)
    last = _last_contribution(frame, window(frame, contributions(frame)))
    ops, found = frame.ops, []
    for row, step in zip(rows.tolist(), window(frame, rows).tolist(), strict=True):
        late = last.get((int(ops.stage[row]), step), -1)
        if late > row and ops.rank[late] == ops.rank[row] and not _running(frame, row, late):
            found.append(finding(frame, row, late=frame.text(late)))
    return Findings(len(rows), found)


def _running(frame: Frame, row: int, later: int) -> bool:
    """Whether a reduction may still run when a later row starts: adding then is PP502."""
    moment = int(frame.awaited[row])
    started = int(frame.start(np.asarray(later)))
    return int(frame.ops.handle[row]) >= 0 and (moment < 0 or moment > started)


def early_updates(frame: Frame) -> Findings:
    """A stage's weights are updated after the last contribution of the step.

    Where weights are updated at every microbatch a STEP needs no contribution of the others.
    With one step every contribution of the stage belongs to it; with several, those of the
    microbatches of the step and of the steps before it.
    """
    ops, rows = frame.ops, _staged(frame, Kind.STEP)
    weights = frame.run.schedule.described.get("weights", {})
    if not isinstance(weights, str | tuple) and weights.get("updates") == "microbatch":
        return Findings(0)
    adding = contributions(frame)
    several = max(frame.run.schedule.steps or 1, frame.run.copies) > 1
    per_step = max(frame.run.schedule.ids_per_step, 1)
    due = ops.microbatch[adding] // per_step if several else np.zeros(len(adding), np.int64)
    last = _last_contribution(frame, due)
    found = []
    for row, step in zip(rows.tolist(), steps_before(frame, rows).tolist(), strict=True):
        until = step if several else 0
        late = max((last.get((int(ops.stage[row]), t), -1) for t in range(until + 1)), default=-1)
        if late > row and ops.rank[late] == ops.rank[row]:
            found.append(finding(frame, row, late=frame.text(late)))
    return Findings(len(rows), found)


def unreduced(frame: Frame) -> Findings:
    """A gradient that is to be reduced is reduced before it is used: at the STEP, else at the end.

    `reduce: required` asks it of every stage with a contribution or a STEP, in a fragment too;
    by default, where one stage has a reduction, all need it.
    """
    gradients, ops = frame.run.schedule.gradients, frame.ops
    reductions = _staged(frame, Kind.REDUCE)
    by_default = gradients.reduce == "default" and len(reductions) > 0 and not frame.fragment
    if frame.run.schedule.forward_only or (gradients.reduce != "required" and not by_default):
        return Findings(0)
    asked = _uses(frame)
    have = {
        (int(ops.stage[row]), step): row
        for row, step in zip(reductions.tolist(), window(frame, reductions).tolist(), strict=True)
    }
    found = []
    for stage, step, spot in asked:
        if (stage, step) not in have:
            op = frame.text(spot.row) if spot.row >= 0 else "the end of the program"
            found.append(Finding((spot,), {"op": op, "stage": str(stage)}))
    return Findings(len(asked), found)


def _uses(frame: Frame) -> list[tuple[int, int, Spot]]:
    """Return (stage, step, place) of every use of a gradient that was added to."""
    ops = frame.ops
    steps = _staged(frame, Kind.STEP)
    uses = [
        (int(ops.stage[row]), step, finding(frame, row).spots[0])
        for row, step in zip(steps.tolist(), steps_before(frame, steps).tolist(), strict=True)
    ]
    stepped = set(ops.stage[_staged(frame, Kind.STEP, Kind.SKIP)].tolist())
    adding = contributions(frame)
    pairs = {
        (stage, step)
        for stage, step in zip(
            ops.stage[adding].tolist(), window(frame, adding).tolist(), strict=True
        )
        if stage not in stepped
    }
    for stage, step in sorted(pairs):
        uses.append((stage, step, program_end(frame, frame.run.placement[stage])))
    return uses
