"""Configuration: which file holds it, what it says, and what the environment says before it."""

import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import click

from pipeproof.cli._inputs import text_of
from pipeproof.cli._keys import KEYS, Key, Value
from pipeproof.cli._toml import Path, Spot, read, spots
from pipeproof.errors import ParseError, Problem, did_you_mean, printable
from pipeproof.ir.reading import Mistakes, ReadOptions, place_of

__all__ = ["Setting", "Settings", "found"]

_OWN = "pipeproof.toml"
_PROJECT = "pyproject.toml"
_TABLE: Path = ("tool", "pipeproof")


class Setting(NamedTuple):
    """What a key is set to, and by what: a file with line and column, or a variable."""

    value: Value
    source: str
    line: int = 0
    column: int = 0

    @property
    def where(self) -> str:
        """Where it is set: FILE:LINE:COL, or the variable."""
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured: `file` as it is shown, None where there is none, and what is set."""

    file: str | None
    by_key: Mapping[str, Setting]


def found(path: str | None = None, *, isolated: bool = False) -> Settings:
    """Return what is configured, the environment before the file.

    Args:
        path: the file, instead of the nearest one.
        isolated: no file is read.

    Raises:
        ParseError: the file is no TOML, or holds what is no key or no value of a key.
        click.UsageError: a variable holds no value of its key.
    """
    file = None if isolated else _nearest() if path is None else _named(path)
    by_key = {} if file is None else _of_file(file)
    for key in KEYS.values():
        text = os.environ.get(key.variable, "")
        if text:
            by_key[key.name] = _of_environ(key, text)
    return Settings(None if file is None else file.name, by_key)


class _File(NamedTuple):
    """A file that holds configuration: its table, and under which path that stands in it."""

    name: str
    text: str
    table: Mapping[str, object]
    at: Path


def _named(path: str) -> _File:
    """Return the file that the command line names.

    Raises:
        ParseError: it cannot be read, is no TOML, or holds no configuration.
    """
    file = _File(path, "", {}, ()) if path == "-" else _read(path)
    if file is None or path == "-":
        said = "it has no [tool.pipeproof]" if file is None else "standard input is no file"
        raise ParseError([Problem(path, 1, 1, said, f"name a {_PROJECT} or a {_OWN}")])
    return file


def _nearest() -> _File | None:
    """Return the nearest file, from here up to the root of the repository.

    Raises:
        ParseError: it is not clear which, or one on the way is no TOML.
    """
    try:
        here = pathlib.Path.cwd()
    except OSError:
        return None
    for folder in (here, *here.parents):
        paths = [folder / name for name in (_OWN, _PROJECT)]
        files = [_read(os.path.relpath(path, here)) for path in paths if _is_file(path)]
        held = [each for each in files if each is not None]
        if len(held) > 1:
            raise _two(held[0], held[1])
        if held:
            return held[0]
        if os.path.exists(folder / ".git"):  # noqa: PTH110  no error where one may not look
            return None
    return None


def _is_file(path: pathlib.Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  as above


def _read(path: str) -> _File | None:
    """Return what a file holds, None where it is a project's that says nothing of pipeproof.

    Raises:
        ParseError: it cannot be read, or is no TOML.
    """
    name, text = text_of(path, ReadOptions())
    whole = read(text, name)
    if pathlib.PurePath(path).name != _PROJECT:
        return _File(name, text, whole, ())
    tool = whole.get("tool")
    if not isinstance(tool, dict) or "pipeproof" not in tool:
        return None
    table = tool["pipeproof"]
    if not isinstance(table, dict):
        line, column = place_of(text, spots(text)[_TABLE].value)
        raise ParseError([Problem(name, line, column, "it is no table", "write [tool.pipeproof]")])
    return _File(name, text, table, _TABLE)


def _two(own: _File, project: _File) -> ParseError:
    line, column = place_of(project.text, spots(project.text)[_TABLE].key)
    said = f"{own.name} holds the configuration, too"
    return ParseError([Problem(project.name, line, column, said, "keep one of them")])


def _of_file(file: _File) -> dict[str, Setting]:
    """Return what a file sets, every value as the option takes it.

    Raises:
        ParseError: it holds what is no key, or no value of its key.
    """
    places = spots(file.text)
    mistakes = Mistakes(file.name)
    by_key: dict[str, Setting] = {}
    for name, value in file.table.items():
        at = (*file.at, name)
        line, column = place_of(file.text, places[at].key)
        key = KEYS.get(name)
        if key is None:
            known = f"known: {', '.join(KEYS)}{did_you_mean(name[:40], KEYS)}"
            mistakes.add(line, column, f"{printable(name)} is no key of the configuration", known)
            continue

        def refuse(within: Path, what: str, expected: str, at: Path = at) -> None:
            spot = places.get((*at, *within), Spot(0, 0))
            named = bool(within) and isinstance(within[-1], str)
            offset = spot.key if named else spot.value
            mistakes.add(*place_of(file.text, offset), what, expected)

        taken = key.kind.of_file(value, refuse)
        by_key[name] = Setting(_beside(file.name, key, taken), file.name, line, column)
    mistakes.settle()
    return by_key


def _beside(file: str, key: Key, value: Value) -> Value:
    """Return a value whose paths start from here, not from the file in which they stand."""
    folder = os.path.dirname(file)  # noqa: PTH120  kept as it is shown
    if not key.is_path or not folder or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return os.path.join(folder, value)  # noqa: PTH118
    return tuple(os.path.join(folder, each) for each in value)  # noqa: PTH118


def _of_environ(key: Key, text: str) -> Setting:
    """Return what a variable sets.

    Raises:
        click.UsageError: it holds no value of its key.
    """

    def refuse(within: Path, what: str, expected: str) -> None:
        del within
        said = f"{key.variable}: {what}; {expected}"
        raise click.UsageError(said)

    return Setting(key.kind.of_environ(text, refuse), key.variable)
