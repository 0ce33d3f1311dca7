"""What a replay finds: transitions that no legal execution makes, and numbers that differ."""

from enum import Enum
from typing import NamedTuple

__all__ = ["Fault", "Illegal", "Place"]


class Fault(Enum):
    """What is wrong with a transition."""

    ABSENT = "nothing stands there"
    OTHER = "another value stands there"
    FREED = "the storage is free"
    IN_FLIGHT = "a transfer of the storage is under way"
    CROSSED = "the message holds another value"
    STRANDED = "the message is left in its channel"
    NO_FORWARD = "no forward has kept anything"
    NO_INPUT_GRADIENT = "no input gradient has left anything"
    SHARDED = "the weights are sharded"
    MIXED = "another version than its forward read"
    POLICY = "another version than the policy asks for"
    UNCOMMITTED = "the version is not committed"
    RETIRED = "the version has been overwritten"
    RECOMPUTED = "what is recomputed is not what the forward computed"
    REGISTER = "the register was handed on in another order"
    RESTORED = "what is restored is not what was saved"
    BUSY = "the gradient is being reduced or summed"
    MARK = "the mark of the last contribution is wrong"
    GRADIENT = "the gradient is not what the step asks for"


class Place(NamedTuple):
    """Where an operation stands: its row as run, -1 at the end of a stage's program."""

    row: int
    stage: int = -1


class Illegal(NamedTuple):
    """A transition that is not legal.

    `places` are the operation that makes it and those that brought it about. `visible` says that
    the numbers that it works with or makes are no numbers, or differ from those of the unsplit
    model.
    """

    fault: Fault
    places: tuple[Place, ...]
    expected: str
    found: str
    visible: bool = False
