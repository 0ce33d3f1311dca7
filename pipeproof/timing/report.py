"""What is told of a schedule's time under one transport, all of it together."""

from fractions import Fraction
from typing import NamedTuple

from pipeproof.ir.actions import Kind
from pipeproof.semantics.model import Model
from pipeproof.timing.bounds import Bounds, lower_bounds
from pipeproof.timing.measures import Boundary, Measures, StageTotals, measured, peaks, totals
from pipeproof.timing.timeline import Timeline, timeline

__all__ = ["Timing", "analytical", "timed"]


class Timing(NamedTuple):
    """A timeline, what it comes to, what nothing can be below, and the formula where one applies.

    `peaks` is the most forwards that wait on each rank. `bounds` is None for a fragment, in which
    data need not come from anywhere. `formula` is the analytical bubble and how it is written, None
    where none is known.
    """

    line: Timeline
    measures: Measures
    bounds: Bounds | None
    peaks: tuple[int, ...]
    stages: tuple[StageTotals, ...]
    boundaries: tuple[Boundary, ...]
    formula: tuple[Fraction, str] | None


def timed(model: Model) -> Timing:
    """Return what is told of a legal schedule's time, of one copy of its programs.

    Raises:
        UnsupportedFeatureError: the transport has weak communicators.
        ValueError: the schedule is stuck, so that it has no end.
    """
    line = timeline(model)
    stages, boundaries = totals(model.frame)
    schedule = model.frame.run.schedule
    microbatches = schedule.microbatches * (schedule.steps or 1)
    return Timing(
        line,
        measured(line, microbatches),
        None if schedule.fragment else lower_bounds(model.frame.run, line, stages),
        peaks(model.frame),
        stages,
        boundaries,
        analytical(model, line),
    )


def analytical(model: Model, line: Timeline) -> tuple[Fraction, str] | None:
    """Return the bubble that the papers give, where what they assume holds.

    They assume one step, equal stages, as many on each rank, one after the other around the ranks,
    whole backwards, and messages that take no time. Source: Narayanan et al., Efficient Large-Scale
    Language Model Training on GPU Clusters Using Megatron-LM, 2021, section 2.2.
    """
    run = model.frame.run
    ranks, stages = line.ranks, run.schedule.stages
    held = {kind for kind in (Kind.I, Kind.W, Kind.R) for each in line.spans if each.kind is kind}
    around = all(home == stage % ranks for stage, home in enumerate(run.placement))
    plain = not run.schedule.pipelines and run.schedule.segments == 1 and run.copies == 1
    costs = line.costs
    is_free = not any(costs.ticks["comm"]) and not any(costs.ticks["L"])
    once = run.schedule.steps in (None, 1)
    if held or not (around and plain and once and costs.uniform and is_free) or stages % ranks:
        return None
    chunks, microbatches = stages // ranks, run.schedule.microbatches
    value = Fraction(ranks - 1, chunks * microbatches + ranks - 1)
    return value, "(P-1)/(M+P-1)" if chunks == 1 else "(P-1)/(vM+P-1)"
