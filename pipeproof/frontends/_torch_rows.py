"""The rows of a torch CSV as columns, and where each of them stands."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pipeproof.errors import printable
from pipeproof.frontends._torch_scan import Columns, scan
from pipeproof.ir.actions import COMPUTE, Action, read_action, read_overlap
from pipeproof.ir.operations import NONE, Bracket, IntArray, Operations, read_only
from pipeproof.ir.reading import Mistakes
from pipeproof.ir.schedule import Slots
from pipeproof.ir.sets import among
from pipeproof.ir.values import MAX_STAGE, NO_VALUE

__all__ = ["FORBIDDEN_BUBBLE", "Cells", "read_rows", "rows_of"]

FORBIDDEN_BUBBLE = "write an action: torch refuses bubbles in a file that holds messages"
Line = tuple[int, str]
"""Number of a line from 1, and its text."""
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=,|$)|[^,]*')
_OVERLAPPED = tuple(map(int, COMPUTE[:4]))


class Cells:
    """All operations of a file, and where they stand; places are looked up when asked for."""

    def __init__(self, lines: Sequence[Line], operations: Operations) -> None:
        self.operations = operations
        self._lines = lines
        kinds = operations.kind
        self.has_messages = bool(np.any(~among(kinds, _OVERLAPPED)))
        self.instructions = int(np.count_nonzero(operations.member == 0))
        self._starts = lru_cache(maxsize=4)(self._starts_of)

    def place(self, row: int) -> tuple[int, int]:
        """Return line and column of `row`, both from 1."""
        number, text = self._lines[int(self.operations.rank[row])]
        starts = self._starts(int(self.operations.rank[row]))
        column = starts[int(self.operations.position[row])]
        for _ in range(int(self.operations.member[row])):
            column = text.index(";", column) + 1
        return number, column + 1 + _blank(text[column:])

    def bubbles(self) -> Iterator[tuple[int, int]]:
        """Yield line and column of each empty cell."""
        for number, text in self._lines:
            for start, cell in _cells(text):
                if not cell.strip():
                    yield number, start + 1

    def slots(self) -> Slots:
        """Return the slot of each row: its cell, empty ones counted."""
        ops = self.operations
        cells = [[cell.strip() for _, cell in _cells(text)] for _, text in self._lines]
        of_rank = [[slot for slot, cell in enumerate(row) if cell] for row in cells]
        pairs = zip(ops.rank.tolist(), ops.position.tolist(), strict=True)
        of_row = read_only([of_rank[rank][position] for rank, position in pairs])
        return Slots(of_row, tuple(len(row) for row in cells))

    def _starts_of(self, rank: int) -> list[int]:
        return [start for start, cell in _cells(self._lines[rank][1]) if cell.strip()]


def _blank(text: str) -> int:
    """How many characters stand before the first that means something."""
    return len(text) - len(text.lstrip(' \t"('))


def rows_of(
    text: str, mistakes: Mistakes
) -> tuple[tuple[Line, ...], tuple[tuple[int, str, str], ...]]:
    """Return the rows of a CSV, and what is to be said of blank lines at its end.

    Raises:
        ParseError: there are too many mistakes to go on.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    filled = len(lines)
    while filled and not lines[filled - 1].strip():
        filled -= 1
    for number, line in enumerate(lines[:filled], start=1):
        if not line.strip():
            said = "torch counts it as a rank; write its actions, or delete the line"
            mistakes.add(number, 1, "a blank line stands between rows", said)
    notes: tuple[tuple[int, str, str], ...] = ()
    if filled < len(lines):
        notes = ((filled + 1, "a blank line ends the file", "torch counts it as another rank"),)
    return tuple(enumerate(lines[:filled], start=1)), notes


def read_rows(lines: Sequence[Line], mistakes: Mistakes) -> Cells:
    """Read each line into columns; what is no action is a mistake.

    Raises:
        ParseError: there are too many mistakes to go on.
    """
    ranks = []
    for number, text in lines:
        columns = scan(text)
        if columns is None:
            columns = _read_cells(number, text, mistakes)
        ranks.append(columns)
    table = np.concatenate(ranks, axis=1) if ranks else np.zeros((6, 0), dtype=np.int64)
    counts = [columns.shape[1] for columns in ranks]
    return Cells(lines, _operations(table, np.repeat(np.arange(len(ranks)), counts)))


def _operations(table: Columns, rank: npt.ArrayLike) -> Operations:
    position, member, kind, stage, microbatch, bracket = map(read_only, table)
    rows = len(kind)
    return Operations(
        rank=read_only(rank),
        position=position,
        member=member,
        kind=kind,
        stage=stage,
        microbatch=microbatch,
        value=_filled(rows, NO_VALUE),
        peer=_filled(rows, NONE),
        comm=_filled(rows, 0),
        handle=_filled(rows, NONE),
        bracket=bracket,
        attributes=MappingProxyType({}),
        torch_words=True,
    )


def _filled(rows: int, value: int) -> IntArray:
    return read_only(np.full(rows, value))


def _read_cells(number: int, text: str, mistakes: Mistakes) -> Columns:
    rows: list[tuple[int, int, int, int, int, int]] = []
    position = 0
    for start, written in _cells(text):
        cell = written.strip()
        if not cell:
            continue
        found = read_overlap(cell) if cell.startswith("(") else read_action(cell)
        actions = (found,) if isinstance(found, Action) else found
        if isinstance(actions, str) or any(each.stage > MAX_STAGE for each in actions):
            said = actions if isinstance(actions, str) else f"stages are numbers up to {MAX_STAGE}"
            column = start + 1 + _blank_before(text, start, cell)
            mistakes.add(number, column, f"{printable(cell)} is no action", said)
            continue
        bracket = int(Bracket.OVERLAP if cell.startswith("(") else Bracket.NONE)
        for member, each in enumerate(actions):
            row = (position, member, int(each.kind), each.stage, each.microbatch, bracket)
            rows.append(row)
        position += 1
    return np.array(rows, dtype=np.int64).reshape(-1, 6).T


def _blank_before(text: str, start: int, cell: str) -> int:
    return max(text.find(cell[:1], start) - start, 0)


def _cells(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each cell of a line starts, and its text; quotes are taken off."""
    if '"' not in text:
        start = 0
        for cell in text.split(","):
            yield start, cell
            start += len(cell) + 1
        return
    start = 0
    while start <= len(text):
        found = _QUOTED.match(text, start)
        if found is None:
            return
        yield start, found[0] if found[1] is None else found[1].replace('""', '"')
        start = found.end() + 1
