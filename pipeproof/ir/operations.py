"""The operation table: columns of numpy arrays, one row an operation.

Rows stand in order of rank, then position, then place within the instruction; a million of them
are cheap. An instruction is one position of a rank's program: one row, or the members of a
bracket `[a | b]` or of an overlap `(a;b)OVERLAP_F_B`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.values import NO_VALUE, ValueKind, kind_of, microbatch_of, stage_of

__all__ = [
    "ANY",
    "NOBODY",
    "NONE",
    "Bracket",
    "IntArray",
    "Operations",
    "Row",
    "build",
    "read_only",
]

IntArray = npt.NDArray[np.int64]

NONE = -1
ANY = -2  # `from=any`, `v=any`: whichever comes
NOBODY = "<nobody>"  # the communicator of receives that nobody sends to
_COLUMNS = (
    *("rank", "position", "member", "kind", "stage", "microbatch", "value", "peer", "comm"),
    *("handle", "bracket"),
)
_STANDING = ("position", "member", "bracket")  # where an operation stands, not what it is


class Bracket(IntEnum):
    """How an operation shares its position."""

    NONE = 0
    GROUP = 1
    OVERLAP = 2


@dataclass(slots=True)
class Row:
    """One operation on its way into the table; `NONE` where a column does not apply.

    `attributes` holds what is written behind the operation and has no column of its own, and the
    operands of instructions that have one: `name`, `ranks`, `storage`, `count`, `what`.
    """

    rank: int
    position: int
    member: int
    kind: Kind
    stage: int = NONE
    microbatch: int = NONE
    value: int = NO_VALUE
    peer: int = NONE
    comm: int = 0
    handle: int = NONE
    bracket: Bracket = Bracket.NONE
    attributes: dict[str, str] = field(default_factory=dict)


def read_only(array: npt.ArrayLike) -> IntArray:
    """Return `array` as int64 that nobody can write to."""
    column = np.array(array, dtype=np.int64)
    column.flags.writeable = False
    return column


@dataclass(frozen=True, slots=False, eq=False)
class Operations:
    """All operations of a schedule, `len(kind)` rows.

    `comms` and `handles` are names by index; comm 0 is the default communicator `""`. A handle
    is a name of one rank. `names` are the values that have a name of their own.
    """

    rank: IntArray
    position: IntArray
    member: IntArray
    kind: IntArray
    stage: IntArray
    microbatch: IntArray
    value: IntArray
    peer: IntArray
    comm: IntArray
    handle: IntArray
    bracket: IntArray
    attributes: Mapping[int, Mapping[str, str]]
    comms: tuple[str, ...] = ("",)
    handles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    torch_words: bool = False

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def instruction(self) -> IntArray:
        """Which instruction each row belongs to, counted over all ranks, shape `(rows,)`."""
        if not len(self):
            return read_only([])
        fresh = (np.diff(self.rank) != 0) | (np.diff(self.position) != 0)
        return read_only(np.concatenate(([0], np.cumsum(fresh))))

    @cached_property
    def first_row(self) -> IntArray:
        """The first row of each instruction, shape `(instructions,)`."""
        if not len(self):
            return read_only([])
        return read_only(np.flatnonzero(np.diff(self.instruction, prepend=-1)))

    @cached_property
    def ordinal(self) -> IntArray:
        """How many equal operations stand before each row on its rank, shape `(rows,)`."""
        said: dict[tuple[tuple[str, str], ...], int] = {}
        alike = np.zeros(len(self), np.int64)
        for row, own in self.attributes.items():
            alike[row] = said.setdefault(tuple(sorted(own.items())), len(said) + 1)
        columns = [getattr(self, name) for name in _COLUMNS if name not in _STANDING]
        keys = [each for each in (*columns, alike) if np.any(each != each[:1])]
        order = np.lexsort(keys) if keys else np.arange(len(self))
        fresh = np.zeros(len(self), np.bool_)
        fresh[:1] = True
        for key in keys:
            fresh[1:] |= np.diff(key[order]) != 0
        starts = np.flatnonzero(fresh)
        counted = np.empty(len(self), np.int64)
        counted[order] = np.arange(len(self)) - np.repeat(starts, np.diff(starts, append=len(self)))
        return read_only(counted)

    def is_kind(self, *kinds: Kind) -> npt.NDArray[np.bool_]:
        """Return which rows are of one of `kinds`, shape `(rows,)`."""
        table = np.zeros(len(Kind) + 1, dtype=np.bool_)
        table[list(kinds)] = True
        return np.asarray(table[self.kind])

    def value_text(self, code: int) -> str:
        """Return how the language writes the value of this code."""
        if code == ANY:
            return "any"
        kind = kind_of(code)
        match kind:
            case ValueKind.NAME:
                return self.names[microbatch_of(code)]
            case ValueKind.F | ValueKind.B:
                return f"{kind.name}{stage_of(code)}.{microbatch_of(code)}"
            case ValueKind.X | ValueKind.Y | ValueKind.A | ValueKind.L:
                return f"{kind.name}.{microbatch_of(code)}"

    def text(self, row: int) -> str:
        """Return the operation of `row` as the language writes it, with its attributes."""
        return _write(self, row)

    def instruction_text(self, instruction: int) -> str:
        """Return a whole instruction as the language writes it."""
        first = int(self.first_row[instruction])
        rows = [first]
        while rows[-1] + 1 < len(self) and self.instruction[rows[-1] + 1] == instruction:
            rows.append(rows[-1] + 1)
        match Bracket(int(self.bracket[first])):
            case Bracket.NONE:
                return _write(self, first)
            case Bracket.OVERLAP:
                inside = ";".join(_write(self, row, alone=False) for row in rows)
                return " ".join([f"({inside})OVERLAP_F_B", *_behind(self, first)])
            case Bracket.GROUP:
                inside = " | ".join(_write(self, row, alone=False) for row in rows)
                return " ".join([f"[{inside}]", *_behind(self, first)])

    def program(self, rank: int) -> Iterator[str]:
        """Yield the instructions of `rank` in order, as the language writes them."""
        of = self.rank[self.first_row] == rank
        for instruction in np.flatnonzero(of):
            yield self.instruction_text(int(instruction))


def build(
    rows: list[Row],
    *,
    comms: tuple[str, ...] = ("",),
    handles: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    torch_words: bool = False,
) -> Operations:
    """Return the table of `rows`, which stand in order of rank, position and member."""
    columns = {
        name: read_only(np.fromiter(map(attrgetter(name), rows), np.int64, len(rows)))
        for name in _COLUMNS
    }
    attributes = {
        i: MappingProxyType(row.attributes) for i, row in enumerate(rows) if row.attributes
    }
    return Operations(
        **columns,
        attributes=MappingProxyType(attributes),
        comms=comms,
        handles=handles,
        names=names,
        torch_words=torch_words,
    )


_OPERANDS = ("name", "storage", "count", "what", "written")


def _behind(ops: Operations, row: int) -> Iterator[str]:
    """What stands behind a bracket, for all of its members."""
    if int(ops.handle[row]) != NONE:
        yield f"h={ops.handles[int(ops.handle[row])]}"
    if "if" in ops.attributes.get(row, {}):
        yield f"if={ops.attributes[row]['if']}"


def _write(ops: Operations, row: int, *, alone: bool = True) -> str:
    kind = Kind(int(ops.kind[row]))
    attributes = ops.attributes.get(row, {})
    stage = int(ops.stage[row])
    word = "REDUCE_GRAD" if kind is Kind.REDUCE and ops.torch_words else kind.name
    if _has_own_operand(kind):
        head = " ".join([word, *(attributes[key] for key in _OPERANDS if key in attributes)])
    elif kind in (Kind.SEND, Kind.RECV, Kind.LOAD):
        head = f"{word} {ops.value_text(int(ops.value[row]))}"
    elif kind is Kind.WAIT:
        head = f"WAIT {ops.handles[int(ops.handle[row])]}"
    elif kind in (Kind.SIGNAL, Kind.AWAIT):
        head = word
    else:
        microbatch = int(ops.microbatch[row])
        head = f"{stage}{word}{microbatch if microbatch != NONE else ''}"
    return " ".join([head, *_tail(ops, row, kind, attributes, alone=alone)])


def _has_own_operand(kind: Kind) -> bool:
    return kind in (
        *(Kind.COLL, Kind.FREE, Kind.WRITE, Kind.USE, Kind.HOLD, Kind.DROP, Kind.SAVE),
        *(Kind.CONSUME, Kind.RESUME, Kind.RESTORE, Kind.CHOOSE),
    )


def _tail(
    ops: Operations, row: int, kind: Kind, attributes: Mapping[str, str], *, alone: bool
) -> Iterator[str]:
    peer = int(ops.peer[row])
    if peer != NONE and kind in (Kind.SEND, Kind.RECV, Kind.SIGNAL, Kind.AWAIT):
        side = "to" if kind in (Kind.SEND, Kind.SIGNAL) else "from"
        yield f"{side}={'any' if peer == ANY else peer}"
    if int(ops.comm[row]) > 0:
        yield f"comm={ops.comms[int(ops.comm[row])]}"
    if alone and kind is not Kind.WAIT and int(ops.handle[row]) != NONE:
        yield f"h={ops.handles[int(ops.handle[row])]}"
    for key in attributes:
        if key not in _OPERANDS and (alone or key != "if"):
            yield f"{key}={attributes[key]}"
