"""Which operations there must be, once each, where, and of what that exists."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import TORCH_MESSAGES, Kind
from pipeproof.ir.operations import NONE, IntArray
from pipeproof.ir.schedule import neighbours
from pipeproof.ir.sets import among, both, distinct, either, without
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._uncounted import counting
from pipeproof.semantics.relations._windows import boundaries, steps_before

__all__ = ["misplaced", "missing", "unknown"]

_LISTED = 1000  # missing operations named one by one


def missing(frame: Frame) -> Findings:
    """Every stage runs, for every microbatch of its pipeline, a forward and a whole backward.

    Nothing is missing from a fragment; without any backward none is asked for; a step of some
    stages only lacks the others'.
    """
    if frame.fragment:
        return Findings(0)
    wanted, absent = _forwards(frame)
    more, lacking = _backwards(frame)
    steps, stepless = _steps(frame)
    found: list[Finding] = []
    for name, keys in (("F", absent), *lacking):
        found.extend(_name(frame, name, keys))
    found.extend(Finding((), {"op": f"{stage}STEP", "of": "stage"}) for stage in stepless)
    return Findings(wanted + more + steps, found)


def _name(frame: Frame, kind: str, keys: IntArray) -> Iterator[Finding]:
    total = frame.run.microbatches
    for key in keys[:_LISTED].tolist():
        stage, microbatch = divmod(key, total)
        said = " or ".join(f"{stage}{each}{microbatch}" for each in kind.split())
        yield Finding((), {"op": said, "of": "microbatch"})
    if len(keys) > _LISTED:
        more = f"and {len(keys) - _LISTED} more {kind.split(maxsplit=1)[0]}"
        yield Finding((), {"op": more, "of": "kind"})


def _demanded(frame: Frame) -> tuple[IntArray, int]:
    """Return `stage · microbatches + microbatch` of all that is asked for, and the number."""
    run = frame.run
    total, lines = run.microbatches, run.schedule.lines
    if len(lines) == 1:
        stages = np.asarray(lines[0])
        return (stages[:, None] * total + np.arange(total)[None, :]).reshape(-1), total * len(
            stages
        )
    line_of = np.full(max(run.schedule.stages, 1), 0)
    for number, line in enumerate(lines):
        line_of[list(line)] = number
    chosen = np.zeros(total, np.int64)
    ops = run.operations
    running = ops.is_kind(Kind.F, Kind.B, Kind.I, Kind.W, Kind.L)
    rows = np.flatnonzero(running & _exists(frame))[::-1]
    chosen[ops.microbatch[rows]] = line_of[ops.stage[rows]]
    parts = [
        (np.asarray(line)[:, None] * total + np.flatnonzero(chosen == number)[None, :]).reshape(-1)
        for number, line in enumerate(lines)
    ]
    keys = np.sort(np.concatenate(parts))
    return keys, len(keys)


def _exists(frame: Frame) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    ops = frame.ops
    stage = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    return np.asarray(stage & (ops.microbatch >= 0) & (ops.microbatch < frame.run.microbatches))


def _present(frame: Frame, *kinds: Kind) -> IntArray:
    ops = frame.ops
    rows = counting(frame, np.flatnonzero(ops.is_kind(*kinds) & _exists(frame)))
    return distinct(ops.stage[rows] * frame.run.microbatches + ops.microbatch[rows])


def _forwards(frame: Frame) -> tuple[int, IntArray]:
    keys, wanted = _demanded(frame)
    return wanted, without(keys, _present(frame, Kind.F))


def _backwards(frame: Frame) -> tuple[int, list[tuple[str, IntArray]]]:
    if frame.run.schedule.forward_only:
        return 0, []
    keys, wanted = _demanded(frame)
    whole = _present(frame, Kind.B)
    first, second = _present(frame, Kind.I), _present(frame, Kind.W)
    none = without(keys, np.concatenate((whole, first, second)))
    split = without(either(first, second), whole)
    split = both(split, keys)
    lacking = [("I", without(split, first)), ("W", without(split, second))]
    return wanted, [("B I", none), *lacking]


def _steps(frame: Frame) -> tuple[int, list[int]]:
    """Return how many steps are looked for, and a stage for each step that others take alone."""
    ops = frame.ops
    if frame.run.schedule.forward_only or not np.any(ops.is_kind(Kind.STEP)):
        return 0, []
    rows = boundaries(frame)
    turns = steps_before(frame, rows)
    stages = np.arange(frame.run.schedule.stages)
    lacking: list[int] = []
    total = max(frame.run.schedule.steps or 1, frame.run.copies)
    for turn in distinct(turns[turns < total]).tolist():
        lacking.extend(without(stages, ops.stage[rows[turns == turn]]).tolist())
    return len(stages), lacking


def unknown(frame: Frame) -> Findings:
    """What an operation names exists: its stage, microbatch, neighbour and ranks."""
    ops, run = frame.ops, frame.run
    stages, total, ranks = run.schedule.stages, run.microbatches, frame.ranks
    named = ops.stage >= stages
    named |= (ops.microbatch >= total) & (ops.microbatch != NONE)
    named |= ops.is_kind(*TORCH_MESSAGES)  # unlinked: there is no such neighbour
    ends = ops.is_kind(Kind.SEND, Kind.RECV, Kind.SIGNAL, Kind.AWAIT)
    named |= ends & (ops.peer >= ranks)
    valued = (ops.value >= 0) & ((ops.value >> 56) != int(ValueKind.NAME))
    named |= valued & (((ops.value >> 32) & 0xFFFFFF) >= max(stages, 1))
    named |= valued & ((ops.value & 0xFFFFFFFF) >= total)
    judged = int(np.sum((ops.stage != NONE) | valued | ends))
    found = [finding(frame, row) for row in np.flatnonzero(named).tolist()]
    found.extend(_foreign_ranks(frame))
    return Findings(judged, found)


def _foreign_ranks(frame: Frame) -> Iterator[Finding]:
    rows = np.flatnonzero(frame.ops.is_kind(Kind.COLL, Kind.NORM, Kind.TIE))
    for row in rows.tolist():
        text = frame.ops.attributes.get(row, {}).get("ranks", "")
        if any(int(rank) >= frame.ranks for rank in text.split(",") if rank):
            yield finding(frame, row)


def misplaced(frame: Frame) -> Findings:
    """A stage runs on its one rank, and stages of one rank hand over without a message."""
    ops, run = frame.ops, frame.run
    home = np.asarray((*run.placement, NONE))
    long_form = ops.is_kind(Kind.SEND, Kind.RECV, Kind.LOAD)
    short = among(run.spelled.kind[run.base], TORCH_MESSAGES)
    bound = (~long_form | short) & (ops.stage >= 0) & (ops.stage < run.schedule.stages)
    away = bound & (home[np.where(bound, ops.stage, -1)] != ops.rank)
    found = [
        finding(frame, row, why=f"stage {ops.stage[row]} lives on rank {home[ops.stage[row]]}")
        for row in np.flatnonzero(away).tolist()
    ]
    what = ops.value >> 56
    linking = long_form & among(what, (ValueKind.F, ValueKind.B))
    linking &= _links_own_stages(frame)
    own = np.flatnonzero(linking & (ops.peer == ops.rank) & ~away)
    for row in own.tolist():
        found.append(finding(frame, row, why="its two stages live on one rank"))
    return Findings(int(np.sum(bound)) + int(np.sum(linking)), found)


def _links_own_stages(frame: Frame) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which values are made by a stage of a row's rank for another stage of it."""
    ops, placement = frame.ops, frame.run.placement
    home = np.asarray((*placement, NONE))
    before, after = (np.asarray((*side, NONE)) for side in neighbours(frame.run.schedule))
    maker = np.minimum(np.where(ops.value >= 0, (ops.value >> 32) & 0xFFFFFF, -1), len(placement))
    reader = np.where((ops.value >> 56) == int(ValueKind.F), after[maker], before[maker])
    return np.asarray((home[maker] == ops.rank) & (home[reader] == ops.rank) & (reader != NONE))
