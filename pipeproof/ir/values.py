"""Values: what operations read and write, as one integer each.

A value is coded `kind << 56 | stage << 32 | microbatch`; a value with a name of its own is
coded by the index of the name. Columns of codes sort, compare and shift without Python objects.
"""

import re
from enum import IntEnum

from pipeproof.ir.actions import whole_number

__all__ = [
    "MAX_STAGE",
    "NO_VALUE",
    "ValueKind",
    "encode",
    "kind_of",
    "microbatch_of",
    "read_value",
    "stage_of",
]

NO_VALUE = -1
MAX_STAGE = 2**24 - 1
_VALUE = re.compile(r"([XYAL])\.(\d+)|([FB])(\d+)\.(\d+)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ValueKind(IntEnum):
    """What a value is: a name of its own, input, label, extra, activation, gradient, loss."""

    NAME = 0
    X = 1
    Y = 2
    A = 3
    F = 4
    B = 5
    L = 6


def encode(kind: ValueKind, stage: int, microbatch: int) -> int:
    """Return the code of a value; `stage` is 0 for inputs, labels and losses."""
    return (int(kind) << 56) | (stage << 32) | microbatch


def kind_of(code: int) -> ValueKind:
    """Return what the value of this code is."""
    return ValueKind(code >> 56)


def stage_of(code: int) -> int:
    """Return the stage in a code."""
    return (code >> 32) & MAX_STAGE


def microbatch_of(code: int) -> int:
    """Return the microbatch in a code, or the index of the name."""
    return code & 0xFFFFFFFF


def read_value(text: str) -> tuple[ValueKind, int, int] | str:
    """Read a value: `X.0`, `F2.1`, `B0.3`, `L.1`; any other word is a name of its own.

    Returns:
        Kind, stage and microbatch, the last two 0 for a name; or what was expected.
    """
    found = _VALUE.fullmatch(text)
    if found is None:
        if _WORD.fullmatch(text):
            return (ValueKind.NAME, 0, 0)
        return "write a value: X.0, F2.1, B2.1, L.0, or a word"
    stage = whole_number(found[4]) if found[4] else 0
    microbatch = whole_number(found[5] or found[2])
    if stage is None or microbatch is None or stage > MAX_STAGE:
        return "stages and microbatches are whole numbers without leading zeros"
    return (ValueKind[found[1] or found[3]], stage, microbatch)
