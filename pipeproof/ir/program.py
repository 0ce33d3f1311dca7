"""Programs: the text of each rank, read strictly into rows of the operation table."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeproof.errors import Problem, did_you_mean, printable
from pipeproof.ir._instructions import (
    MESSAGES,
    STAGED,
    Mistake,
    Tables,
    index,
    read_attributes,
    read_operation,
)
from pipeproof.ir.actions import Kind, read_overlap
from pipeproof.ir.operations import NONE, Bracket, Operations, Row, build
from pipeproof.ir.reading import Mistakes, ReadOptions
from pipeproof.ir.source import Marks

__all__ = ["Piece", "Programs"]

_SEPARATED = re.compile(r"(?:[^;()]|\([^()]*\)|[()])+")
_OVERLAP = re.compile(r"\(([^()]*)\)OVERLAP_F_B(?![^ \t])")
# What most instructions are; their numbers are in range.
_PLAIN = re.compile(
    r"(0|[1-9][0-9]{0,6})(F|B|I|W|R|L|SEND_F|RECV_F|SEND_B|RECV_B)(0|[1-9][0-9]{0,8})"
)
_MEMBERS = (Kind.F, Kind.B, Kind.I, Kind.W)


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of a program and where it stands: line and column, both from 1, of its first character.

    Each further line of it starts in that column too. Where the text is not written like that
    (escapes, folded lines), all of it stands on `line`, and `columns` holds the column of each
    character.
    """

    text: str
    line: int
    column: int
    columns: Sequence[int] = ()

    def place(self, line: int, start: int, offset: int) -> tuple[int, int]:
        """Return the place of a character: on which line of the text, that line's start, where."""
        if self.columns:
            return self.line, self.columns[min(start + offset, len(self.columns) - 1)]
        return self.line + line, self.column + offset


class Programs:
    """Reads the programs of all ranks, one after another; mistakes are collected on the way.

    Rows, lines and columns are parallel lists.
    """

    def __init__(self, mistakes: Mistakes, options: ReadOptions) -> None:
        self.rows: list[Row] = []
        self.lines: list[int] = []
        self.columns: list[int] = []
        self.ranks = 0
        self._tables = Tables()
        self._mistakes = mistakes
        self._options = options
        self._limit = options.limit("instructions")
        self._instructions = 0
        self._reduce_grads = 0
        self._choices: list[int] = []
        self._handled: list[int] = []

    @property
    def file(self) -> str:
        """The file that the programs stand in."""
        return self._mistakes.file

    @property
    def communicators(self) -> tuple[str, ...]:
        """The communicators named so far, the default one `""` first."""
        return tuple(self._tables.comms)

    def read(self, pieces: Iterable[Piece], *, ordered: bool = True) -> None:
        """Read the program of the next rank.

        `ordered` is False where the runtime runs what is ready, so that a handle may be started
        by an instruction further down.

        Raises:
            ParseError: there are too many mistakes to go on.
            LimitError: there are more instructions than the limit `instructions` allows.
        """
        self._handled = []
        position = 0
        for piece in pieces:
            for line, start, offset, text in _instructions(piece.text):
                self._read_instruction(piece, (line, start, offset), text, position)
                position += 1
        self._check_handles(ordered=ordered)
        self.ranks += 1

    def operations(self) -> Operations:
        """Return the table of all that was read."""
        tables = self._tables
        return build(
            self.rows,
            comms=tuple(tables.comms),
            handles=tuple(tables.handles),
            names=tuple(tables.names),
            torch_words=self._reduce_grads > 0,
        )

    def marks(self) -> Marks:
        """Return where each row stands."""
        return Marks(tuple(self.lines), tuple(self.columns))

    def check_choices(self) -> None:
        """Check that each `if=` names a choice that some rank makes, and one of its outcomes.

        Raises:
            ParseError: there are too many mistakes to go on.
        """
        outcomes: dict[str, list[str]] = {}
        for row in map(self.rows.__getitem__, self._choices):
            if row.kind is Kind.CHOOSE:
                said = outcomes.setdefault(row.attributes["name"], [])
                said.extend(row.attributes["written"].split("|"))
        for place in self._choices:
            row = self.rows[place]
            if "if" not in row.attributes:
                continue
            name, _, outcome = row.attributes["if"].partition(":")
            if name not in outcomes:
                expected = f"write CHOOSE {name} a|b on a rank{did_you_mean(name[:40], outcomes)}"
                self._mistake(place, f"nothing chooses {printable(name)}", expected)
            elif outcome not in outcomes[name]:
                expected = f"write one of {', '.join(outcomes[name])}"
                self._mistake(place, f"{printable(outcome)} is no outcome of {name}", expected)

    def _mistake(self, row: int, found: str, expected: str) -> None:
        self._mistakes.add(self.lines[row], self.columns[row], found, expected)

    def _read_instruction(
        self, piece: Piece, at: tuple[int, int, int], text: str, position: int
    ) -> None:
        line, start, offset = at
        self._instructions += 1
        if self._instructions > self._limit:
            place = piece.place(line, start, offset)
            problem = Problem(self._mistakes.file, *place, "there are more instructions", "")
            raise self._options.exceeded(problem, "instructions")
        try:
            rows = _read_rows(text, self._tables)
            self._check_ranks(rows)
        except _At as wrong:
            place = piece.place(line, start, offset + wrong.offset)
            self._mistakes.add(*place, wrong.found, wrong.expected)
            return
        if "REDUCE_GRAD" in text:
            self._reduce_grads += 1
        for member, (inside, row) in enumerate(rows):
            row.rank, row.position, row.member = self.ranks, position, member
            if row.handle != NONE:
                self._handled.append(len(self.rows))
            if row.kind is Kind.CHOOSE or "if" in row.attributes:
                self._choices.append(len(self.rows))
            self.rows.append(row)
            mark = piece.place(line, start, offset + inside)
            self.lines.append(mark[0])
            self.columns.append(mark[1])

    def _check_ranks(self, rows: list[tuple[int, Row]]) -> None:
        for inside, row in rows:
            if row.kind is Kind.COLL and str(self.ranks) not in row.attributes["ranks"].split(","):
                found = f"rank {self.ranks} is none of ranks={row.attributes['ranks']}"
                raise _At(inside, found, "name the rank whose program this is, too")

    def _check_handles(self, *, ordered: bool) -> None:
        started: set[int] = set()
        if not ordered:
            rows = map(self.rows.__getitem__, self._handled)
            started = {row.handle for row in rows if row.kind is not Kind.WAIT}
        for place in self._handled:
            row = self.rows[place]
            if row.kind is not Kind.WAIT:
                started.add(row.handle)
            elif row.handle not in started:
                name = list(self._tables.handles)[row.handle]
                found = f"nothing was started under '{name}' since the last WAIT {name}"
                self._mistake(place, found, f"write h={name} behind an instruction before it")
            elif ordered and "if" not in row.attributes:
                started.discard(row.handle)


class _At(Exception):  # noqa: N818  never leaves this module
    """A mistake at an offset within an instruction."""

    def __init__(self, offset: int, found: str, expected: str) -> None:
        super().__init__(found)
        self.offset, self.found, self.expected = offset, found, expected


def _instructions(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield line within the text, start of that line, offset in the line, and instruction."""
    start = 0
    for number, whole in enumerate(text.split("\n")):
        line = whole.partition("#")[0]
        if ";" not in line:
            bare = line.strip(" \t\r")
            if bare:
                yield number, start, line.find(bare), bare
        else:
            for found in _SEPARATED.finditer(line):
                bare = found[0].strip(" \t\r")
                if bare:
                    yield number, start, found.start() + found[0].find(bare), bare
        start += len(whole) + 1


def _read_rows(text: str, tables: Tables) -> list[tuple[int, Row]]:
    """Read one instruction: its rows, each with its offset in `text`."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        kind = STAGED[plain[2]].kind
        return [(0, Row(0, 0, 0, kind, int(plain[1]), int(plain[3])))]
    if text[0] == "[":
        return _read_group(text, tables)
    if text[0] == "(":
        return _read_overlapping(text, tables)
    return [(0, _read_one(text, 0, tables))]


def _read_one(text: str, offset: int, tables: Tables, *, alone: bool = True) -> Row:
    try:
        return read_operation(text, tables, alone=alone)
    except Mistake as mistake:
        at = offset + _offset_of(text, mistake.word)
        raise _At(at, mistake.found, mistake.expected) from None


def _offset_of(text: str, word: int) -> int:
    starts = [found.start() for found in re.finditer(r"\S+", text)] or [0]
    return starts[min(word, len(starts) - 1)]


def _members(inside: str, separator: str, offset: int) -> Iterator[tuple[int, str]]:
    for part in inside.split(separator):
        bare = part.strip(" \t\r")
        if not bare:
            raise _At(offset, "nothing stands between separators", "write an operation")
        yield offset + part.find(bare), bare
        offset += len(part) + 1


def _read_group(text: str, tables: Tables) -> list[tuple[int, Row]]:
    end = text.find("]")
    if end < 0:
        raise _At(0, f"{printable(text)} has no end", "close the bracket with ]")
    rows = []
    for offset, member in _members(text[1:end], "|", 1):
        row = _read_one(member, offset, tables, alone=False)
        if row.kind not in MESSAGES:
            raise _At(offset, f"{printable(member)} is no message", "a bracket holds messages")
        rows.append((offset, row))
    _close(rows, text, end + 1, ("h", "if"), tables)
    return rows


def _read_overlapping(text: str, tables: Tables) -> list[tuple[int, Row]]:
    found = _OVERLAP.match(text)
    if found is None:
        expected = read_overlap(text)
        said = expected if isinstance(expected, str) else "write (0F7;7B3)OVERLAP_F_B"
        raise _At(0, f"{printable(text)} is no operation", said)
    rows = []
    for offset, member in _members(found[1], ";", 1):
        row = _read_one(member, offset, tables, alone=False)
        if row.kind not in _MEMBERS:
            said = "an overlap holds F, B, I and W only"
            raise _At(offset, f"{printable(member)} stands in an overlap", said)
        rows.append((offset, row))
    _close(rows, text, found.end(), ("if",), tables)
    return rows


def _close(
    rows: list[tuple[int, Row]], text: str, end: int, takes: tuple[str, ...], tables: Tables
) -> None:
    """Give the rows of a bracket what stands behind it."""
    bracket = Bracket.GROUP if text[0] == "[" else Bracket.OVERLAP
    tail = text[end:]
    try:
        attributes = read_attributes(tail.split(), takes, "a bracket")
    except Mistake as mistake:
        raise _At(end + _offset_of(tail, mistake.word), mistake.found, mistake.expected) from None
    for _, row in rows:
        row.bracket = bracket
        if "h" in attributes:
            row.handle = index(tables.handles, attributes["h"])
        if "if" in attributes:
            row.attributes["if"] = attributes["if"]
