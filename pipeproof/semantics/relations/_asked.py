"""What is asked of a gradient: which microbatches it takes, and with which coefficient."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray, read_only
from pipeproof.ir.schedule import Plain, Schedule
from pipeproof.semantics.frame import Frame

__all__ = ["Asked"]

ONE = Fraction(1)


class Asked:
    """What the steps of the first copy ask of gradients.

    `total` microbatch ids exist, `per_step` of them in each of `steps`. With `each_update` a STEP
    takes whatever came since the one before. `plain` says for each id of a step whether it is
    asked for with coefficient 1, `nothing` whether with 0.
    """

    def __init__(self, frame: Frame) -> None:
        schedule = frame.run.schedule
        self.frame = frame
        self.steps = max(schedule.steps or 1, 1)
        self.per_step = max(schedule.ids_per_step, 1)
        self.total = self.steps * self.per_step
        weights = schedule.described.get("weights", {})
        self.each_update = (
            isinstance(weights, Mapping) and weights.get("updates", "") == "microbatch"
        )
        self.coefficients = _coefficients(schedule)
        self.plain = np.asarray([each == 1 for each in self.coefficients], np.bool_)
        self.nothing = np.asarray([each == 0 for each in self.coefficients], np.bool_)
        self.line_of = _line_of(frame, self.total)

    @property
    def surplus(self) -> str:
        """Why a STEP beyond those covered has nothing to take."""
        covered = "1 step is" if self.steps == 1 else f"{self.steps} steps are"
        return f"nothing was added since the step before; {covered} covered"

    def coefficient(self, microbatch: int) -> Fraction:
        """Return the coefficient with which a microbatch is to enter the gradient."""
        return self.coefficients[microbatch % self.per_step]

    def runs_through(self, stage: int) -> npt.NDArray[np.bool_]:
        """Return which microbatches the pipeline of a stage runs, shape `(total,)`."""
        if self.line_of is None:
            return np.ones(self.total, np.bool_)
        lines = self.frame.run.schedule.lines
        own = next((number for number, line in enumerate(lines) if stage in line), -1)
        return np.asarray(self.line_of == own)


def _coefficients(schedule: Schedule) -> tuple[Fraction, ...]:
    """Return the coefficient asked of each id of a step: 1 unless the schedule says otherwise."""
    ids, segments = max(schedule.ids_per_step, 1), max(schedule.segments, 1)
    said = schedule.gradients.other.get("coefficients", "sum")
    if isinstance(said, str):
        each = Fraction(1, max(schedule.microbatches, 1)) if said == "mean" else ONE
        return (each,) * ids
    shares = _shares(said)
    if len(shares) == ids:
        return shares
    return tuple(shares[number // segments] for number in range(ids))


def _shares(said: Plain) -> tuple[Fraction, ...]:
    listed = said.get("tokens", ()) if isinstance(said, Mapping) else said
    numbers = tuple(Fraction(each) for each in listed if isinstance(each, str))
    if not isinstance(said, Mapping):
        return numbers
    tokens = sum(numbers, Fraction(0))
    return tuple(each / tokens for each in numbers)


def _line_of(frame: Frame, total: int) -> IntArray | None:
    """Return the pipeline that runs each microbatch, None where there is one only."""
    schedule, ops = frame.run.schedule, frame.ops
    if len(schedule.lines) == 1:
        return None
    line_of = np.full(max(schedule.stages, 1), 0)
    for number, line in enumerate(schedule.lines):
        line_of[list(line)] = number
    known = (ops.stage >= 0) & (ops.stage < schedule.stages)
    known &= (ops.microbatch >= 0) & (ops.microbatch < total)
    rows = np.flatnonzero(ops.is_kind(Kind.F, Kind.B, Kind.I, Kind.W, Kind.L) & known)[::-1]
    chosen = np.zeros(total, np.int64)
    chosen[ops.microbatch[rows]] = line_of[ops.stage[rows]]
    return read_only(chosen)
