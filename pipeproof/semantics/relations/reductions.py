"""Reductions of gradients and updates of weights, against what they must come after."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics.found import Finding, Findings, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._asked import Asked
from pipeproof.semantics.relations._spots import finding, program_end
from pipeproof.semantics.relations._windows import (
    boundaries,
    contributions,
    param_of,
    steps_before,
    window,
)

__all__ = ["early_reductions", "early_updates", "unreduced", "wrong_marks"]


def _staged(frame: Frame, *kinds: Kind) -> IntArray:
    ops = frame.ops
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages) & (frame.run.copy == 0)
    return np.flatnonzero(ops.is_kind(*kinds) & staged)


def _adding(frame: Frame) -> IntArray:
    rows = contributions(frame)
    return np.asarray(rows[frame.run.copy[rows] == 0])


def _steps(frame: Frame) -> IntArray:
    """Return the STEPs that count."""
    rows = boundaries(frame)
    return np.asarray(rows[(frame.ops.kind[rows] == Kind.STEP) & (frame.run.copy[rows] == 0)])


class _Last:
    """The last contribution of a stage in each step; `steps` is by contribution."""

    def __init__(self, frame: Frame, rows: IntArray, steps: IntArray) -> None:
        self._of: dict[tuple[int, int], int] = {}
        self._named: dict[tuple[int, int], dict[str, int]] = {}
        self._until: dict[tuple[int, str], list[int]] = {}
        stage = frame.ops.stage[rows]
        order = np.lexsort((rows, steps, stage))
        stage, steps, rows = stage[order], steps[order], rows[order]
        final = (np.diff(stage, append=-1) != 0) | (np.diff(steps, append=-1) != 0)
        for s, t, row in zip(
            stage[final].tolist(), steps[final].tolist(), rows[final].tolist(), strict=True
        ):
            self._of[s, t] = row
        if any("param" in said for said in frame.ops.attributes.values()):
            for s, t, row in zip(stage.tolist(), steps.tolist(), rows.tolist(), strict=True):
                self._named.setdefault((s, t), {})[param_of(frame, row)] = row

    def of(self, stage: int, step: int, name: str) -> int:
        """Return the last row that adds to a parameter, or to anything where it has no name."""
        if not name or not self._named:
            return self._of.get((stage, step), -1)
        named = self._named.get((stage, step), {})
        return max(named.get(name, -1), named.get("", -1))

    def until(self, stage: int, step: int, name: str) -> int:
        """Return the last row that adds to a parameter in one of the steps up to this one."""
        known = self._until.setdefault((stage, name), [-1])
        while len(known) <= step + 1:
            known.append(max(known[-1], self.of(stage, len(known) - 1, name)))
        return known[step + 1]

    def names(self, stage: int, step: int) -> set[str]:
        """Return the parameters that contributions name."""
        return set(self._named.get((stage, step), {})) - {""}


def early_reductions(frame: Frame) -> Findings:
    """A gradient is reduced after the last contribution of its step."""
    rows = _staged(frame, Kind.REDUCE)
    if frame.run.schedule.gradients.reduce == "none" or not len(rows):
        return Findings(0)
    adding = _adding(frame)
    last = _Last(frame, adding, window(frame, adding))
    ops, found = frame.ops, []
    for row, step in zip(rows.tolist(), window(frame, rows).tolist(), strict=True):
        late = last.of(int(ops.stage[row]), step, param_of(frame, row))
        if late > row and ops.rank[late] == ops.rank[row] and not _running(frame, row, late):
            why = f"comes before {frame.text(late)}, which adds to the same gradient"
            found.append(finding(frame, row, why=why))
    return Findings(len(rows), found)


def _running(frame: Frame, row: int, later: int) -> bool:
    """Whether a reduction may still run when a later row starts: adding then is PP502."""
    moment = int(frame.awaited[row])
    started = int(frame.start(np.asarray(later)))
    return int(frame.ops.handle[row]) >= 0 and (moment < 0 or moment > started)


def wrong_marks(frame: Frame) -> Findings:
    """Where a stage marks contributions, the last of each step says `last=yes`, no other does."""
    ops = frame.ops
    marked = {
        int(ops.stage[row])
        for row, said in ops.attributes.items()
        if "last" in said and ops.kind[row] != Kind.I
    }
    if not marked:
        return Findings(0)
    rows = _adding(frame)
    rows = rows[among(ops.stage[rows], sorted(marked))]
    steps = window(frame, rows)
    last = _Last(frame, rows, steps)
    found = []
    for row, step in zip(rows.tolist(), steps.tolist(), strict=True):
        closes = last.of(int(ops.stage[row]), step, "")
        says = ops.attributes.get(row, {}).get("last") == "yes"
        if says and row != closes:
            why = f"says last=yes, and {frame.text(closes)} adds to the same gradient after it"
            found.append(finding(frame, row, why=why))
        elif row == closes and not says:
            why = "closes the accumulation window and does not say last=yes"
            found.append(finding(frame, row, why=why))
    return Findings(len(rows), found)


def early_updates(frame: Frame) -> Findings:
    """A stage's weights are updated after the last contribution of the step.

    Where weights are updated at every microbatch a STEP needs no contribution of the others.
    With one step every contribution of the stage belongs to it; with several, those of the
    microbatches of the step and of the steps before it. A STEP that is withdrawn needs none.
    """
    ops, rows, asked = frame.ops, _steps(frame), Asked(frame)
    if asked.each_update or not len(rows):
        return Findings(0)
    adding = _adding(frame)
    several = asked.steps > 1
    due = ops.microbatch[adding] // asked.per_step if several else np.zeros(len(adding), np.int64)
    last = _Last(frame, adding, due)
    found = []
    for row, step in zip(rows.tolist(), steps_before(frame, rows).tolist(), strict=True):
        stage, name = int(ops.stage[row]), param_of(frame, row)
        late = last.until(stage, min(step, asked.steps - 1), name)
        if late > row and ops.rank[late] == ops.rank[row]:
            found.append(finding(frame, row, late=frame.text(late)))
    return Findings(len(rows), found)


def unreduced(frame: Frame) -> Findings:
    """A gradient that is to be reduced is reduced before it is used: at the STEP, else at the end.

    `reduce: required` asks it of every stage with a contribution or a STEP, in a fragment too;
    by default, where one stage has a reduction, all need it. Where single parameters are reduced,
    every one that is named needs it.
    """
    gradients, ops = frame.run.schedule.gradients, frame.ops
    reductions = _staged(frame, Kind.REDUCE)
    by_default = gradients.reduce == "default" and len(reductions) > 0 and not frame.fragment
    if frame.run.schedule.forward_only or (gradients.reduce != "required" and not by_default):
        return Findings(0)
    have: dict[tuple[int, int], set[str]] = {}
    for row, step in zip(reductions.tolist(), window(frame, reductions).tolist(), strict=True):
        have.setdefault((int(ops.stage[row]), step), set()).add(param_of(frame, row))
    adding = _adding(frame)
    last = _Last(frame, adding, window(frame, adding))
    found, number = [], 0
    for stage, step, spot in _uses(frame):
        number += 1
        name = param_of(frame, spot.row) if spot.row >= 0 else ""
        lacking = _lacking(have.get((stage, step), set()), name, last.names(stage, step))
        if lacking is not None:
            op = frame.text(spot.row) if spot.row >= 0 else "the end of the program"
            what = f"parameter {lacking} of " if lacking else ""
            found.append(Finding((spot,), {"op": op, "stage": str(stage), "what": what}))
    return Findings(number, found)


def _lacking(have: set[str], name: str, added: set[str]) -> str | None:
    """Return the parameter that is not reduced, empty for the whole stage, None where all is."""
    if "" in have or name in have:
        return None
    if name or not have:
        return name
    return min(added - have, default=None)


def _uses(frame: Frame) -> Iterator[tuple[int, int, Spot]]:
    """Yield (stage, step, place) of every use of a gradient that was added to."""
    ops, asked = frame.ops, Asked(frame)
    steps = _steps(frame)
    for row, step in zip(steps.tolist(), steps_before(frame, steps).tolist(), strict=True):
        yield int(ops.stage[row]), step, finding(frame, row).spots[0]
    marks = _staged(frame, Kind.STEP, Kind.SKIP)
    marks = marks[among(marks, boundaries(frame))]
    taken: dict[int, int] = {}
    for stage, step in zip(
        ops.stage[marks].tolist(), steps_before(frame, marks).tolist(), strict=True
    ):
        taken[stage] = max(taken.get(stage, 0), step + 1)
    adding = _adding(frame)
    size = len(ops) + asked.steps + 1
    for key in distinct(ops.stage[adding] * size + window(frame, adding)).tolist():
        stage, step = divmod(key, size)
        open_ = taken.get(stage, 0) <= step < asked.steps and not asked.each_update
        if stage not in taken or open_:
            yield stage, step, program_end(frame, frame.run.placement[stage])
