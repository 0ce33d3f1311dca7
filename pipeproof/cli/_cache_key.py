"""The digest of everything that a verdict depends on: equal digests, equal verdicts."""

import hashlib
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pipeproof
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from pipeproof.api import Asked

__all__ = ["digest_of", "program"]

_OF_THE_FILE = frozenset(("name", "places", "expect", "title", "origin"))
"""What belongs to a file and not to the schedule in it, so that no verdict depends on it."""

_WATCHES = "progress"
"""What is told of an exploration, and does not change it."""

Take = Callable[[bytes], None]


def digest_of(document: Document, asked: "Asked") -> str | None:
    """Return the SHA-256 of a schedule, of what is asked of it, and of the program that judges.

    None where the same might be answered otherwise the next time: within seconds of a clock, or
    from where an exploration stopped; or where something stands in it that has no digest.
    """
    effort = asked.effort
    before = (effort.seconds, effort.stopped, effort.frontiers, effort.told)
    if any(each is not None for each in before) or not program():
        return None
    taken = hashlib.sha256()
    take = taken.update
    try:
        _feed(take, program())
        for part, left_out in ((document, _OF_THE_FILE), (asked, {"effort"}), (effort, {_WATCHES})):
            _fields(take, part, frozenset(left_out))
    except TypeError:
        return None
    return taken.hexdigest()


@cache
def program() -> str:
    """Return the SHA-256 of the program that judges: its source, and what it is run by.

    Nothing where the source is not there to be read.
    """
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  when asked

    taken = hashlib.sha256()
    root = Path(pipeproof.__file__).parent
    files = sorted(root.rglob("*.py"))
    for path in files:
        data = path.read_bytes()
        name = path.relative_to(root).as_posix()
        taken.update(f"{len(name)}:{name}{len(data)}:".encode())
        taken.update(data)
    try:
        others = [version(each) for each in ("numpy", "networkx", "z3-solver")]
    except PackageNotFoundError:
        return ""
    run_by = (pipeproof.__version__, sys.version, sys.flags.optimize, platform.machine(), *others)
    taken.update(repr(run_by).encode())
    return taken.hexdigest() if files else ""


def _feed(take: Take, value: object) -> None:
    """Take a value in, so that no two different values are taken in as the same bytes.

    Raises:
        TypeError: it is of a kind that has no such form.
    """
    match value:
        case Enum():
            take(f"e{type(value).__qualname__}.{value.name};".encode())
        case None | bool() | int():
            take(f"{type(value).__name__} {value!r};".encode())
        case str():
            data = value.encode("utf-8", "surrogatepass")
            take(b"s%d:" % len(data))
            take(data)
        case np.ndarray():
            _array(take, value)
        case _:
            _many(take, value)


def _array(take: Take, value: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> None:
    if value.dtype.hasobject:
        message = "an array of objects has no digest"
        raise TypeError(message)
    take(f"a{value.dtype.str}{value.shape};".encode())
    take(value.tobytes())


def _many(take: Take, value: object) -> None:
    if isinstance(value, tuple):
        take(f"t{type(value).__qualname__} {len(value)};".encode())
        for each in value:
            _feed(take, each)
    elif isinstance(value, Mapping):
        take(b"m%d;" % len(value))
        for key, each in value.items():
            _feed(take, key)
            _feed(take, each)
    elif isinstance(value, frozenset) and all(isinstance(each, str) for each in value):
        take(b"f")
        _feed(take, tuple(sorted(value)))
    else:
        _fields(take, value, frozenset())


def _fields(take: Take, value: object, left_out: frozenset[str]) -> None:
    if not is_dataclass(value):
        message = f"a {type(value).__name__} has no digest"
        raise TypeError(message)
    names = [each.name for each in fields(value) if each.name not in left_out]
    take(f"d{type(value).__module__}.{type(value).__qualname__} {len(names)};".encode())
    for name in names:
        _feed(take, name)
        _feed(take, getattr(value, name))
