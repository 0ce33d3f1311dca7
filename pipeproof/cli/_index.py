"""`index.json`: what files must show that cannot say so themselves."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pipeproof.errors import ParseError, Problem, did_you_mean, printable
from pipeproof.ir.source import Expectation

__all__ = ["NAME", "Listed", "read_index"]

NAME = "index.json"
_VERDICTS = ("proved", "refuted", "unknown")
_KEYS = ("transport", "verdict", "rule", "or", "at", "at_any", "exact")


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of an index: what it must show under a profile, and how it is to be read."""

    path: Path
    profile: str
    expect: tuple[Expectation, ...]
    stages: int | None
    microbatches: int | None


def read_index(path: Path) -> tuple[Listed, ...]:
    """Read the cases that an index lists for files other than specs.

    Returns:
        For each file an item for `--profile none`, and one for each profile that is named; none
        where the file is no index: one has a list under `cases`.

    Raises:
        ParseError: it is no JSON, or a case says something else than an index can say.
        OSError: it cannot be read.
    """
    try:
        whole: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        line, column = (
            (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (1, 1)
        )
        raise ParseError([Problem(str(path), line, column, "it is no JSON", str(error))]) from None
    cases = whole.get("cases") if isinstance(whole, dict) else None
    if not isinstance(cases, list):
        return ()
    return tuple(each for i, case in enumerate(cases) for each in _Case(path, i, case).listed())


class _Case:
    """One entry of `cases` on its way in."""

    def __init__(self, index: Path, number: int, case: object) -> None:
        self._index = index
        self._where = f"case {number}"
        self._case = self._mapping(case, "a case")

    def listed(self) -> Iterator[Listed]:
        file = self._case.get("file")
        if not isinstance(file, str):
            self._refuse("'file'", "name the file, relative to the index")
        if not file.lower().endswith(".csv"):
            return
        self._where = f"case {file}"
        asked = {"none": self._case["expect"]} if "expect" in self._case else {}
        asked |= self._mapping(self._case.get("profiles", {}), "'profiles'")
        for profile, entries in asked.items():
            expect = tuple(self._expectation(each) for each in self._items(entries, profile))
            stages, microbatches = self._count("stages"), self._count("microbatches")
            yield Listed(self._index.parent / file, profile, expect, stages, microbatches)

    def _expectation(self, entry: object) -> Expectation:
        said = self._mapping(entry, "an expectation")
        for key in said:
            if key not in _KEYS:
                self._refuse(printable(key), f"no such key{did_you_mean(key, _KEYS)}")
        verdict = self._text(said, "verdict")
        if verdict not in _VERDICTS:
            self._refuse("'verdict'", f"one of {', '.join(_VERDICTS)}")
        return Expectation(
            transport=self._text(said, "transport"),
            verdict=verdict,
            rule=self._text(said, "rule"),
            alternatives=self._texts(said, "or"),
            at=self._texts(said, "at"),
            at_any=self._texts(said, "at_any"),
            exact=said.get("exact") is True,
        )

    def _mapping(self, value: object, name: str) -> Mapping[str, object]:
        if not isinstance(value, dict):
            self._refuse(name, "write a mapping")
        return value

    def _items(self, value: object, name: str) -> list[object]:
        if not isinstance(value, list):
            self._refuse(printable(name), "write a list")
        return value

    def _text(self, said: Mapping[str, object], key: str) -> str | None:
        value = said.get(key)
        if value is not None and not isinstance(value, str):
            self._refuse(printable(key), "write text")
        return value

    def _texts(self, said: Mapping[str, object], key: str) -> tuple[str, ...]:
        values = self._items(said.get(key, []), key)
        if not all(isinstance(value, str) for value in values):
            self._refuse(printable(key), "write a list of texts")
        return tuple(str(value) for value in values)

    def _count(self, key: str) -> int | None:
        value = self._case.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self._refuse(printable(key), "write a whole number from 1")
        return value

    def _refuse(self, found: str, expected: str) -> NoReturn:
        raise ParseError([Problem(str(self._index), 1, 1, f"{self._where}: {found}", expected)])
