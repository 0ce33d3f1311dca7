"""Ranks that do not do the same thing where they must."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import distinct
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._outcomes import opposed, outcomes
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._windows import boundaries, param_of, steps_before

__all__ = ["diverging"]


def diverging(frame: Frame) -> Findings:
    """All stages step, skip, commit or roll back alike; samples agree; ranks go on at one place."""
    steps, apart = _steps(frame)
    loads, other = _samples(frame)
    resumes, elsewhere = _resumes(frame)
    settled, undone = outcomes(frame)
    return Findings(steps + loads + resumes + settled, [*apart, *undone, *other, *elsewhere])


def _steps(frame: Frame) -> tuple[int, list[Finding]]:
    rows = boundaries(frame)
    turn = steps_before(frame, rows)
    found = []
    for step in distinct(turn).tolist():
        here = _unlike(frame, rows[turn == step])
        kinds = frame.ops.kind[here]
        if len(here):
            stepping = ", ".join(str(rank) for rank in _ranks(frame, here[kinds == Kind.STEP]))
            skipping = ", ".join(str(rank) for rank in _ranks(frame, here[kinds == Kind.SKIP]))
            why = f"rank {stepping} takes the optimizer step, rank {skipping} leaves it out"
            found.append(finding(frame, *here.tolist(), why=why))
    return len(rows), found


def _unlike(frame: Frame, rows: IntArray) -> IntArray:
    """Return those of one step that are not alike; of single parameters those of one name."""
    if len(distinct(frame.ops.kind[rows])) <= 1:
        return rows[:0]
    of_stage: dict[int, dict[str, int]] = {}
    for row in rows.tolist():
        of_stage.setdefault(int(frame.ops.stage[row]), {})[param_of(frame, row)] = row
    return np.asarray(opposed(frame, list(of_stage.values())), np.int64)


def _ranks(frame: Frame, rows: IntArray) -> list[int]:
    return [int(rank) for rank in distinct(frame.ops.rank[rows])]


def _samples(frame: Frame) -> tuple[int, list[Finding]]:
    ops = frame.ops
    bound: dict[int, dict[str, int]] = {}
    number = 0
    for row, sample in sorted(
        (row, said["sample"]) for row, said in ops.attributes.items() if "sample" in said
    ):
        number += 1
        microbatch = int(ops.value[row]) & 0xFFFFFFFF
        bound.setdefault(microbatch, {}).setdefault(sample, row)
    found = []
    for microbatch, samples in sorted(bound.items()):
        if len(samples) > 1:
            why = f"microbatch {microbatch} is bound to samples {', '.join(sorted(samples))}"
            found.append(finding(frame, *samples.values(), why=why))
    return number, found


def _resumes(frame: Frame) -> tuple[int, list[Finding]]:
    """Compare the k-th RESUME of each rank with that of the lowest; in copies, the first's."""
    ops = frame.ops
    rows = np.flatnonzero(ops.is_kind(Kind.RESUME) & (frame.run.copy == 0))
    of_rank: dict[int, list[int]] = {}
    for row in rows.tolist():
        of_rank.setdefault(int(ops.rank[row]), []).append(row)
    found = []
    for turn in range(max(map(len, of_rank.values()), default=0)):
        lowest, *others = (own[turn] for own in of_rank.values() if turn < len(own))
        at = ops.attributes[lowest]["at"]
        away = [row for row in others if ops.attributes[row]["at"] != at]
        if away:
            said = ", ".join(f"rank {ops.rank[r]} at {ops.attributes[r]['at']}" for r in away)
            why = f"rank {ops.rank[lowest]} goes on at {at}, {said}"
            found.append(finding(frame, lowest, *away, why=why))
    return len(rows), found
