"""What goes wrong in one alternative of a schedule with faults, and what must become of it."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipeproof.ir.operations import Operations
from pipeproof.ir.values import ValueKind, encode, read_value

__all__ = ["FaultKind", "Faulted", "Policy", "Struck", "value_code"]

FaultKind = Literal["missing", "stops", "delayed", "dropped", "duplicated", "corrupted"]
Policy = Literal["raise", "abort", "recover"]


class Struck(NamedTuple):
    """One fault: of a rank that stops before position `at`, or of what stands in row `base`.

    `base` is a row of one copy of the programs (`AsRun.base`), of a SEND where it is a message's
    fault, -1 for that of a rank. `copy` is the copy of the programs in which it happens.
    """

    kind: FaultKind
    rank: int
    at: int = 0
    base: int = -1
    copy: int = 0


@dataclass(frozen=True, slots=True)
class Faulted:
    """One alternative: what goes wrong, and the policy that it must keep.

    `steps` are the rows of STEPs that complete without it, and `ending` the ranks whose programs
    then end; None for all.
    """

    policy: Policy
    struck: tuple[Struck, ...]
    steps: frozenset[int] | None = None
    ending: frozenset[int] | None = None

    @property
    def ranks(self) -> frozenset[int]:
        """The ranks that are missing or stop."""
        return frozenset(each.rank for each in self.struck if each.kind in ("missing", "stops"))


def value_code(ops: Operations, name: str) -> int | None:
    """Return the code of a value by its name; None where it is none, or stands nowhere."""
    read = read_value(name)
    if isinstance(read, str):
        return None
    kind, stage, microbatch = read
    if kind is not ValueKind.NAME:
        return encode(kind, stage, microbatch)
    return encode(kind, 0, ops.names.index(name)) if name in ops.names else None
