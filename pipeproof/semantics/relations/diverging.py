"""Ranks that do not do the same thing where they must."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.sets import distinct
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._windows import boundaries, steps_before

__all__ = ["diverging"]


def diverging(frame: Frame) -> Findings:
    """All stages step, or all skip; one microbatch is one sample on every rank."""
    steps, apart = _steps(frame)
    loads, other = _samples(frame)
    return Findings(steps + loads, [*apart, *other])


def _steps(frame: Frame) -> tuple[int, list[Finding]]:
    rows = boundaries(frame)
    turn = steps_before(frame, rows)
    found = []
    for step in distinct(turn).tolist():
        here = rows[turn == step]
        kinds = frame.ops.kind[here]
        if len(distinct(kinds)) > 1:
            stepping = ", ".join(str(rank) for rank in _ranks(frame, here[kinds == Kind.STEP]))
            skipping = ", ".join(str(rank) for rank in _ranks(frame, here[kinds == Kind.SKIP]))
            why = f"rank {stepping} takes the optimizer step, rank {skipping} leaves it out"
            found.append(finding(frame, *here.tolist(), why=why))
    return len(rows), found


def _ranks(frame: Frame, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[int]:
    return [int(rank) for rank in distinct(frame.ops.rank[rows])]


def _samples(frame: Frame) -> tuple[int, list[Finding]]:
    ops = frame.ops
    bound: dict[int, dict[str, int]] = {}
    number = 0
    for row in np.flatnonzero(ops.is_kind(Kind.LOAD)).tolist():
        sample = ops.attributes.get(row, {}).get("sample")
        if sample is not None:
            number += 1
            microbatch = int(ops.value[row]) & 0xFFFFFFFF
            bound.setdefault(microbatch, {}).setdefault(sample, row)
    found = []
    for microbatch, samples in sorted(bound.items()):
        if len(samples) > 1:
            why = f"microbatch {microbatch} is bound to samples {', '.join(sorted(samples))}"
            found.append(finding(frame, *samples.values(), why=why))
    return number, found
