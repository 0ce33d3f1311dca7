"""Where the operations of a schedule stand in its file, kept beside the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

from pipeproof.errors import Problem
from pipeproof.ir.schedule import Plain, Schedule

__all__ = ["Document", "Expectation", "Marks", "OnePlace", "Places"]


class Places(Protocol):
    """Something that knows where a row of the operation table stands."""

    def place(self, row: int) -> tuple[int, int]:
        """Return line and column of `row`, both from 1; (0, 0) where it stands nowhere."""
        ...


class Marks(NamedTuple):
    """Places as two columns: `lines[row]` and `columns[row]`."""

    lines: tuple[int, ...]
    columns: tuple[int, ...]

    def place(self, row: int) -> tuple[int, int]:
        return self.lines[row], self.columns[row]


class OnePlace(NamedTuple):
    """One place for every row, as of a schedule that is named there; nowhere unless given."""

    line: int = 0
    column: int = 0

    def place(self, row: int) -> tuple[int, int]:
        return self


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a file must show under `transport` (None: over all of the file's own)."""

    transport: str | None
    verdict: str
    rule: str | None = None
    alternatives: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    at_any: tuple[str, ...] = ()
    exact: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A schedule as read from a file, with what belongs to the file and not to the schedule.

    `name` is the path as given, with `#3` for a case of a file that holds several. `notes` are
    sentences about how the file was read; `select` and `ignore` are codes or prefixes.
    """

    name: str
    schedule: Schedule
    places: Places
    expect: tuple[Expectation, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    notes: tuple[Problem | str, ...] = ()
    title: str = ""
    origin: Mapping[str, Plain] = field(default_factory=lambda: MappingProxyType({}))
