"""What every front-end needs to read a file: options, limits, decoding, collected mistakes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from pipeproof.errors import InputError, LimitError, ParseError, Problem
from pipeproof.ir.schedule import Lowering, Schedule

__all__ = [
    "LIMITS",
    "LOWERINGS",
    "Generate",
    "Mistakes",
    "ReadOptions",
    "check_characters",
    "check_size",
    "decode",
]

LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "bytes": 8_000_000,
        "csv-bytes": 64_000_000,
        "trace-bytes": 128_000_000,
        "depth": 16,
        "ranks": 1_024,
        "instructions": 2_000_000,
    }
)
MOST_MISTAKES = 100
LOWERINGS: Mapping[str, Lowering] = MappingProxyType(
    {"torch": "torch", "torch-deferred": "torch-deferred", "just-in-time": "just-in-time"}
)
"""How a computation order gets its messages, by name."""

# What no text file holds: control characters, lone surrogates, non-characters.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_BREAK = re.compile("\r\n|\r|\n")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


class Generate(Protocol):
    """Returns a known schedule of that name; raises an `InputError` where there is none."""

    def __call__(  # noqa: PLR0913  what is asked for, all by name
        self,
        name: str,
        *,
        ranks: int,
        microbatches: int,
        stages_per_rank: int | None,
        options: Mapping[str, str],
        limits: Mapping[str, int],
    ) -> Schedule: ...


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller says about reading.

    `microbatches` and `stages` stand for what a file does not state, `profile` and `lowering`
    for what it states too. `limits` raises or lowers limits by name; `case` is one schedule of a
    file that holds several; `base` is the folder that relative paths start from, else the file's
    own. `generate` makes the known schedules that a file names.
    """

    microbatches: int | None = None
    stages: int | None = None
    profile: str | None = None
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    case: int | None = None
    base: Path | None = None
    lowering: Lowering | None = None
    generate: Generate | None = None

    def limit(self, name: str) -> int:
        """Return the limit of that name, one of `LIMITS`."""
        return self.limits.get(name, LIMITS[name])

    def exceeded(self, problem: Problem, name: str) -> LimitError:
        """Return the error that `problem` exceeds the limit `name`, and how to raise it."""
        said = f"{problem.expected}at most {self.limit(name)} (limit '{name}': --limit {name}=N)"
        return LimitError(
            [Problem(problem.file, problem.line, problem.column, problem.found, said)]
        )


class Mistakes:
    """The mistakes of one file, raised together; the hundredth ends the reading."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []

    def add(self, line: int, column: int, found: str, expected: str) -> None:
        """Note a mistake.

        Raises:
            ParseError: there are too many to go on.
        """
        self.found.append(Problem(self.file, max(line, 1), max(column, 1), found, expected))
        if len(self.found) >= MOST_MISTAKES:
            said = "reading ended here; mend these mistakes first"
            self.found.append(Problem(self.file, max(line, 1), max(column, 1), said, "then go on"))
            self.settle()

    def settle(self, kind: type[InputError] = ParseError) -> None:
        """Raise what was found, in the order of the file.

        Raises:
            InputError: of that kind, where a mistake was found.
        """
        if self.found:
            raise kind(sorted(self.found, key=lambda each: (each.line, each.column)))


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, of the character at `offset`."""
    line, start = 1, 0
    for found in _BREAK.finditer(text, 0, offset):
        line, start = line + 1, found.end()
    return line, offset - start + 1


def decode(data: bytes, name: str) -> str:
    """Return the text of a file: UTF-8 without a byte order mark, no control characters.

    Raises:
        ParseError: it is not; the place is that of the first byte that is wrong.
    """
    for mark in _MARKS:
        if data.startswith(mark):
            found = "the file starts with a byte order mark"
            raise ParseError([Problem(name, 1, 1, found, "write UTF-8 without one")])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = place_of(before, len(before))
        found = f"byte 0x{data[error.start]:02x} is no UTF-8"
        raise ParseError([Problem(name, line, column, found, "write text in UTF-8")]) from None
    check_characters(text, name)
    return text


def check_characters(text: str, name: str) -> None:
    """Check that `text` holds what a text file may hold.

    Raises:
        ParseError: a control character, a lone surrogate or a byte order mark stands in it.
    """
    if text.startswith("\ufeff"):
        found = "the file starts with a byte order mark"
        raise ParseError([Problem(name, 1, 1, found, "write UTF-8 without one")])
    wrong = _FORBIDDEN.search(text)
    if wrong is not None:
        line, column = place_of(text, wrong.start())
        found = f"character U+{ord(wrong[0]):04X} stands here"
        expected = "write text without control characters; a binary file is no schedule"
        raise ParseError([Problem(name, line, column, found, expected)])


def check_size(text: str, name: str, limit: str, options: ReadOptions) -> None:
    """Check that `text` is no longer than the limit of that name, in bytes of UTF-8.

    Raises:
        LimitError: it is longer.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > options.limit(limit):
        raise options.exceeded(Problem(name, 1, 1, f"the file has {size} bytes", ""), limit)
