"""What stands twice: operations, parts of them, reductions, changes of a stage's sharding."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding, ordinal_in_group
from pipeproof.semantics.relations._uncounted import counting
from pipeproof.semantics.relations._windows import window
from pipeproof.semantics.relations.sharding import repeated_changes

__all__ = ["duplicated"]

_SPOKEN = frozenset(("bucket", "param", "c"))


def duplicated(frame: Frame) -> Findings:
    """Nothing takes place twice for one stage and microbatch.

    A backward is one B, or one I and one W: what comes of the other kind is the duplicate. F
    with different `bucket`, B and W with different `param` or each with `c`, are parts of one.
    What read withdrawn weights does not count.
    """
    ops = frame.ops
    known = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages) & (ops.microbatch >= 0)
    known &= ops.microbatch < frame.run.microbatches
    rows = np.flatnonzero(ops.is_kind(Kind.F, Kind.B, Kind.I, Kind.W, Kind.L) & known)
    rows = counting(frame, rows)
    rows = rows[np.argsort(_away(frame, rows), kind="stable")]
    identity = ops.stage[rows] * frame.run.microbatches + ops.microbatch[rows]
    twice = ordinal_in_group((identity * len(Kind) + ops.kind[rows]) * 2**20 + _part(frame, rows))
    second = set(rows[twice > 0].tolist()) | set(_mixed(frame, rows, identity).tolist())
    second |= set(_elsewhere(frame, rows).tolist())
    second |= set(_beside(frame, rows, identity))
    found = [finding(frame, row) for row in sorted(second)]
    reductions, again = _reductions(frame)
    changes, repeats = repeated_changes(frame)
    found.extend(again)
    found.extend(finding(frame, row) for row in repeats.tolist())
    return Findings(len(rows) + reductions + changes, found)


def _elsewhere(frame: Frame, rows: IntArray) -> IntArray:
    """Return what runs a microbatch through another pipeline than the first that takes it."""
    schedule = frame.run.schedule
    if len(schedule.lines) == 1:
        return rows[:0]
    line_of = np.zeros(schedule.stages, np.int64)
    for number, line in enumerate(schedule.lines):
        line_of[list(line)] = number
    own = line_of[frame.ops.stage[rows]]
    ordered = np.argsort(rows, kind="stable")
    first = np.full(frame.run.microbatches, -1, np.int64)
    taken = rows[ordered][::-1]
    first[frame.ops.microbatch[taken]] = own[ordered][::-1]
    return np.asarray(rows[own != first[frame.ops.microbatch[rows]]])


def _away(frame: Frame, rows: IntArray) -> IntArray:
    """Put rows that are out of place behind the others, so that they are the second ones."""
    home = np.asarray(frame.run.placement)
    return np.asarray(home[frame.ops.stage[rows]] != frame.ops.rank[rows], np.int64)


def _part(frame: Frame, rows: IntArray) -> IntArray:
    """Number the part of an operation that each row is, 0 for the whole; each `c` is its own."""
    part = np.zeros(len(rows), np.int64)
    if not frame.ops.attributes:
        return part
    numbers: dict[tuple[str, str], int] = {}
    for at, row in enumerate(rows.tolist()):
        said = frame.ops.attributes.get(row)
        if said is None:
            continue
        forward = frame.ops.kind[row] == Kind.F
        own = str(row) if "c" in said and not forward else ""
        key = (said.get("bucket" if forward else "param", ""), own)
        if key != ("", ""):
            part[at] = numbers.setdefault(key, len(numbers) + 1)
    return part


def _beside(frame: Frame, rows: IntArray, identity: IntArray) -> list[int]:
    """Return parts that stand beside the whole, or a whole beside parts: what came second.

    Contributions that give their coefficient are parts only if each of them does.
    """
    spoken = [row for row, said in frame.ops.attributes.items() if _SPOKEN & said.keys()]
    key = identity * len(Kind) + frame.ops.kind[rows]
    chosen = np.flatnonzero(among(key, key[among(rows, spoken)])) if spoken else rows[:0]
    before: dict[tuple[int, bool], set[str]] = {}
    again: list[int] = []
    for row, own in zip(rows[chosen].tolist(), key[chosen].tolist(), strict=True):
        said = frame.ops.attributes.get(row, {})
        forward = frame.ops.kind[row] == Kind.F
        name, weighted = said.get("bucket" if forward else "param", ""), "c" in said and not forward
        others = [before.setdefault((own, False), set())]
        mine = before.setdefault((own, weighted), set())
        if not weighted:
            others.append(before.setdefault((own, True), set()))
        if any(name in each or "" in each or (each and not name) for each in others):
            again.append(row)
        else:
            mine.add(name)
    return again


def _mixed(frame: Frame, rows: IntArray, identity: IntArray) -> IntArray:
    """Return the backwards of the kind that did not come first for their stage and microbatch.

    Parts may be of either kind where no whole B or W stands beside them.
    """
    kind = frame.ops.kind[rows]
    back = among(kind, (Kind.B, Kind.I, Kind.W))
    parts = [row for row, said in frame.ops.attributes.items() if {"param", "c"} & said.keys()]
    in_part = among(rows, parts)
    whole = identity[back & (kind != Kind.I) & ~in_part]
    back &= ~in_part | among(identity, whole)
    rows, identity, split = rows[back], identity[back], kind[back] != Kind.B
    if not len(rows):
        return rows
    order = np.lexsort((np.arange(len(rows)), identity))
    rows, identity, split = rows[order], identity[order], split[order]
    first = np.flatnonzero(np.diff(identity, prepend=-1) != 0)
    leader = np.repeat(split[first], np.diff(np.append(first, len(rows))))
    return np.asarray(rows[split != leader])


def _reductions(frame: Frame) -> tuple[int, list[Finding]]:
    """Return how many reductions there are, and those that are not the first of their step."""
    ops = frame.ops
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    rows = np.flatnonzero(ops.is_kind(Kind.REDUCE) & staged)
    if frame.run.schedule.gradients.reduce == "none" or not len(rows):
        return len(rows), []
    steps = max(frame.run.schedule.steps or 1, frame.run.copies)
    step = window(frame, rows)
    has_steps = bool(np.any(ops.is_kind(Kind.STEP, Kind.SKIP)))
    key = (ops.stage[rows] * (len(rows) + 2) + step) * 2**20 + _part(frame, rows)
    again = ordinal_in_group(key) > 0
    if not has_steps:
        again |= step >= steps
    return len(rows), [finding(frame, row) for row in rows[again].tolist()]
