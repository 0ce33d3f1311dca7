"""Where keys and values stand in a TOML file, which the reader of the standard library forgets."""

import re
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

from pipeproof.errors import ParseError, Problem
from pipeproof.ir.reading import place_of

__all__ = ["Path", "Spot", "read", "spots"]

Path = tuple[str | int, ...]
"""Keys and, in arrays, indices from 0, from the top of the file."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PART = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*""")
_VALUE = re.compile(
    r'''"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'''
    r"""|\'{3}(?:[^\']|\'{1,2}(?!\'))*\'{3,5}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^,\]}#\r\n]+""",
    re.DOTALL,
)
_AT = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class Spot(NamedTuple):
    """Where something stands, as offsets into the text: its key, and its value.

    An element of an array has no key: both are the same. So are those of a table with a header.
    """

    key: int
    value: int


def read(text: str, name: str) -> Mapping[str, object]:
    """Return what stands in a TOML file.

    Raises:
        ParseError: it is no TOML; the place is that of the first mistake.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.fullmatch(str(error))
        said = found[1] if found else str(error)
        if found and found[2]:
            line, column = int(found[2]), int(found[3])
        else:
            line, column = place_of(text, len(text))
    except RecursionError:
        line, column, said = 1, 1, "what stands here is nested too deeply"
    except ValueError as error:  # a number of too many digits, a date that is none
        line, column, said = 1, 1, str(error)
    raise ParseError([Problem(name, line, column, f"this is no TOML ({said})", "write TOML 1.0")])


def spots(text: str) -> Mapping[Path, Spot]:
    """Return where each key and each value stands in a text that `read` accepts."""
    scan = _Scan(text)
    try:
        scan.whole()
    except RecursionError:  # deeper than any key that is looked for
        return scan.found
    return scan.found


class _Scan:
    """One walk through a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, Spot] = {}
        self._tables: dict[Path, int] = {}  # how many tables an array of tables has so far

    def whole(self) -> None:
        table: Path = ()
        while self._peek():
            table = self._header() if self.text[self.at] == "[" else self._pair(table)

    def _peek(self) -> str:
        """Pass over blanks and comments; return the character behind them, or nothing."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.text[self.at : self.at + 1]

    def _header(self) -> Path:
        start, many = self.at, self.text.startswith("[[", self.at)
        self.at += 1 + many
        parts = self._key()
        self.at += 1 + many
        path: Path = ()
        for offset, part in parts:
            path = (*path, part)
            self.found.setdefault(path, Spot(offset, start))
            if many and offset == parts[-1][0]:
                self._tables[path] = self._tables.get(path, 0) + 1
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
                self.found.setdefault(path, Spot(start, start))
        return path

    def _pair(self, table: Path) -> Path:
        path = table
        for offset, part in self._key():
            path = (*path, part)
            self.found.setdefault(path, Spot(offset, offset))
        self.at += 1
        self._peek()
        self.found[path] = Spot(self.found[path].key, self.at)
        self._value(path)
        return table

    def _key(self) -> list[tuple[int, str]]:
        """Return the parts of a dotted key and where each stands; go on to what is behind it."""
        parts: list[tuple[int, str]] = []
        while True:
            self._peek()
            part = _PART.match(self.text, self.at)
            if part is None:
                return parts
            parts.append((part.start(1), _plain(part[1])))
            self.at = part.end()
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _value(self, path: Path) -> None:
        if self.text[self.at] == "[":
            self._many("]", path)
        elif self.text[self.at] == "{":
            self._many("}", path)
        else:
            value = _VALUE.match(self.text, self.at)
            self.at = value.end() if value else len(self.text)

    def _many(self, end: str, path: Path) -> None:
        self.at += 1
        index = 0
        while self._peek() not in {end, ""}:
            if self.text[self.at] == ",":
                self.at += 1
            elif end == "}":
                self._pair(path)
            else:
                self.found[*path, index] = Spot(self.at, self.at)
                self._value((*path, index))
                index += 1
        self.at += 1


def _plain(part: str) -> str:
    """Return a part of a key without its quotes."""
    if part[0] == "'":
        return part[1:-1]
    return str(tomllib.loads(f"key = {part}")["key"]) if part[0] == '"' else part
