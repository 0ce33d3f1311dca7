"""Traces of real runs, from the paths of a command line."""

import os
import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeproof.errors import ParseError, Problem, printable
from pipeproof.ir.recorded import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeproof.frontends.traces.chrome import Traced
    from pipeproof.ir.reading import ReadOptions

__all__ = ["micros", "names_a_trace", "traced"]

_SUFFIXES = (".json", ".json.gz")
_MICROS = re.compile(r"\d{1,15}(?:\.\d{1,9})?")


def names_a_trace(path: str) -> bool:
    """Whether a path is of a folder, or of a file that is named as traces are."""
    return path.endswith(_SUFFIXES) or os.path.isdir(path)  # noqa: PTH112  NUL bytes are no error


def traced(paths: "Iterable[str]", options: "ReadOptions") -> "tuple[Traced, ...]":
    """Return each file of a trace, those of a folder in order of names; empty ones are left out.

    Raises:
        ParseError: one cannot be read, or is no trace.
        LimitError: one is too large.
    """
    from pipeproof.frontends.traces.chrome import read  # noqa: PLC0415  when needed

    return tuple(read(_bytes(path, options), path, options) for path in _files(paths))


def _files(paths: "Iterable[str]") -> "dict[str, None]":
    found: dict[str, None] = {}
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112
            found[path] = None
            continue
        names = sorted(os.listdir(path))  # noqa: PTH208  relative as given
        inside = [name for name in names if name.endswith(_SUFFIXES) and not name.startswith(".")]
        for name in inside:
            found[os.path.join(path, name)] = None  # noqa: PTH118
    return found


def _bytes(path: str, options: "ReadOptions") -> bytes:
    most = options.limit("trace-bytes")
    try:
        place = Path(path)
        if not place.is_file() and place.exists():
            raise ParseError([Problem(path, 1, 1, "is no regular file", "name a file")])
        with place.open("rb") as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "no such path can be"
        raise ParseError(
            [Problem(path, 1, 1, f"it cannot be read ({said})", "name a file that can be read")]
        ) from error
    if len(data) > most:
        problem = Problem(path, 1, 1, f"the file has more than {most} bytes", "")
        raise options.exceeded(problem, "trace-bytes")
    return data


def micros(text: str | None, option: str) -> int | None:
    """Return a time in microseconds, in ticks.

    Raises:
        click.BadParameter: it is none.
    """
    if text is None:
        return None
    try:
        if _MICROS.fullmatch(text):
            return int(Decimal(text) * MICROSECOND)
    except InvalidOperation:
        pass
    said = f"{printable(text)} is no time; write microseconds, as 5 or 0.5"
    raise click.BadParameter(said, param_hint=option)
