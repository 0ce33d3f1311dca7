"""What a timeline comes to: work and idleness, what is held, what is moved, and the totals."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeproof.ir.accesses import known
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import distinct
from pipeproof.ir.values import ValueKind, kind_of, stage_of
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.bounds import lifetimes
from pipeproof.timing.timeline import Timeline

__all__ = ["Boundary", "Measures", "StageTotals", "measured", "peaks", "totals"]


class StageTotals(NamedTuple):
    """How often a stage computes, and how often it must; `expected` is None where that is open.

    `backwards` counts whole ones and input gradients, `halves` weight gradients. `live` is the most
    forwards that wait for their backward at once.
    """

    stage: int
    rank: int
    forwards: int
    backwards: int
    halves: int
    expected: int | None
    live: int


class Boundary(NamedTuple):
    """Messages between ranks from one stage to the next one, or back, and how many must be."""

    source: int
    destination: int
    transfers: int
    expected: int | None


class Measures(NamedTuple):
    """Of one execution: ticks of work a rank, and parts of the whole.

    `bubble` is the part of all ranks' time in which they do not compute; `throughput` microbatches
    a unit of time.
    """

    busy: tuple[int, ...]
    bubble: Fraction
    throughput: Fraction


def measured(line: Timeline, microbatches: int) -> Measures:
    """Return the measures of a timeline in which `microbatches` are computed."""
    busy = tuple(line.busy(rank) for rank in range(line.ranks))
    whole = line.ranks * line.makespan
    bubble = 1 - Fraction(sum(busy), whole) if whole else Fraction()
    rate = Fraction(microbatches * line.unit, line.makespan) if line.makespan else Fraction()
    return Measures(busy, bubble, rate)


def totals(frame: Frame) -> tuple[tuple[StageTotals, ...], tuple[Boundary, ...]]:
    """Return what each stage and each boundary comes to, beside what it must.

    That the numbers are right is necessary for a schedule to be legal, and not sufficient.
    """
    schedule = frame.run.schedule
    steps = frame.run.copies if schedule.steps is None else schedule.steps
    expected = None if schedule.pipelines else schedule.ids_per_step * steps
    count = {kind: _by_stage(frame, kind) for kind in (Kind.F, Kind.B, Kind.I, Kind.W)}
    live = _live(frame, frame.ops.stage)
    stages = tuple(
        StageTotals(
            stage,
            home,
            count[Kind.F][stage],
            count[Kind.B][stage] + count[Kind.I][stage],
            count[Kind.W][stage],
            expected,
            live[stage],
        )
        for stage, home in enumerate(frame.run.placement)
    )
    return stages, tuple(_boundaries(frame, expected))


def _by_stage(frame: Frame, kind: Kind) -> "Counter[int]":
    rows = known(frame.run, kind)
    return Counter(frame.ops.stage[rows].tolist())


def peaks(frame: Frame) -> tuple[int, ...]:
    """Return the most forwards of each rank, all its stages together, that wait at once."""
    most = _live(frame, frame.ops.rank)
    return tuple(most[rank] for rank in range(frame.ranks))


def _live(frame: Frame, of: IntArray) -> "Counter[int]":
    """Return the most forwards that wait for their backward, by `of`; programs decide it."""
    forwards, last = lifetimes(frame)
    change: dict[int, list[tuple[int, int]]] = {}
    for first, end in zip(forwards.tolist(), last.tolist(), strict=True):
        changes = change.setdefault(int(of[first]), [])
        changes.append((int(frame.ops.instruction[first]) * 2, 1))
        if end >= 0:
            changes.append((int(frame.ops.instruction[end]) * 2 + 1, -1))
    most: Counter[int] = Counter()
    for key, changes in change.items():
        steps = np.cumsum([by for _, by in sorted(changes)])
        most[key] = int(steps.max())
    return most


def _boundaries(frame: Frame, expected: int | None) -> Iterator[Boundary]:
    """Yield every boundary between stages on different ranks, both directions."""
    moved = _moved(frame)
    backwards = not frame.run.schedule.forward_only
    for line in frame.run.schedule.lines:
        for source, destination in pairwise(line):
            home = frame.run.placement
            if home[source] == home[destination]:
                continue
            yield Boundary(source, destination, moved[ValueKind.F, source], expected)
            if backwards:
                yield Boundary(destination, source, moved[ValueKind.B, destination], expected)


def _moved(frame: Frame) -> "Counter[tuple[ValueKind, int]]":
    """Count the messages between ranks by kind and stage of what they carry."""
    ops, pairing = frame.ops, frame.pairing
    sends = distinct(pairing.send[(pairing.send >= 0) & (pairing.receive >= 0)])
    sends = sends[(ops.rank[sends] != ops.peer[sends]) & (ops.value[sends] >= 0)]
    codes = Counter(ops.value[sends].tolist())
    found: Counter[tuple[ValueKind, int]] = Counter()
    for code, times in codes.items():
        kind = kind_of(code)
        if kind in {ValueKind.F, ValueKind.B}:
            found[kind, stage_of(code)] += times
    return found
