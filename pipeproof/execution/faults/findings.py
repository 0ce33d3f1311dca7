"""What is said of a fault: which of the answers it is, where, and what shows it."""

from enum import Enum
from typing import NamedTuple

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Operations
from pipeproof.ir.values import ValueKind, kind_of, microbatch_of, stage_of

__all__ = ["DIRECTIONS", "Answer", "Finding", "Place", "merged", "place_of"]

DIRECTIONS = {
    Kind.F: "forward",
    Kind.B: "backward",
    Kind.I: "backward of the input",
    Kind.W: "backward of the weights",
    Kind.L: "loss",
    Kind.R: "recomputation",
    Kind.STEP: "step",
}
_CARRIED = {ValueKind.F: "forward", ValueKind.B: "backward", ValueKind.L: "loss"}


class Answer(Enum):
    """What a fault is. None of them is ever told as another."""

    LATE_MESSAGE = "late message"
    LATE_OPERATION = "late operation"
    WRONG_VALUE = "wrong value"
    STOPPED = "stopped rank"
    MISSING = "missing participant"
    LOST = "lost message"
    DOUBLED = "doubled message"
    IDENTITY = "message of another identity"
    SHAPE = "message of another shape"
    DISAGREEMENT = "disagreement"
    PRECONDITIONS = "preconditions differ"
    CANNOT = "cannot be localised"


class Place(NamedTuple):
    """Where a fault is: a rank, and there an operation or a message that it sends."""

    rank: int
    stage: int = -1
    microbatch: int = -1
    direction: str = ""
    message: bool = False

    def __str__(self) -> str:
        """Return the place in words."""
        said = [f"rank {self.rank}"]
        said += [f"stage {self.stage}"] if self.stage >= 0 else []
        said += [f"microbatch {self.microbatch}"] if self.microbatch >= 0 else []
        said += [self.direction] if self.direction else []
        return ", ".join(said) + (", message" if self.message else "")


class Finding(NamedTuple):
    """A fault that is claimed, with two confirmations at least, and who claims it.

    `after_step` says that it was noticed once all ranks had agreed on the step.
    """

    answer: Answer
    place: Place
    confirmations: tuple[str, ...]
    by: int
    after_step: bool = False

    def __str__(self) -> str:
        """Return the fault in words."""
        return f"{self.answer.value}: {self.place}"


def merged(*some: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return findings without those that say the same, in one order on every rank."""
    found: dict[tuple[str, Place], Finding] = {}
    for each in sorted(
        (one for group in some for one in group), key=lambda one: (one.after_step, one.by)
    ):
        found.setdefault((each.answer.value, each.place), each)
    return tuple(found[key] for key in sorted(found))


def place_of(ops: Operations, row: int) -> Place:
    """Return the place of an operation, or of the message that a SEND sends."""
    kind, rank = Kind(int(ops.kind[row])), int(ops.rank[row])
    if kind is not Kind.SEND:
        stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
        if kind is Kind.STEP:
            microbatch = -1
        return Place(rank, stage, microbatch, DIRECTIONS.get(kind, kind.name))
    value = int(ops.value[row])
    what = kind_of(value)
    if what not in _CARRIED:
        return Place(rank, -1, -1, ops.value_text(value), message=True)
    return Place(rank, stage_of(value), microbatch_of(value), _CARRIED[what], message=True)
