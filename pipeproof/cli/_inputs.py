"""From the paths of a command line to documents: folders, cases of a file, standard input."""

import glob
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol

from pipeproof import frontends
from pipeproof.errors import ParseError, Problem, printable
from pipeproof.ir.reading import ReadOptions, decode
from pipeproof.ir.source import Document
from pipeproof.plugins import members

__all__ = ["Input", "Loaded", "expand", "load", "text_of", "with_suffix"]

STDIN = "<stdin>"
SUFFIXES = (".yaml", ".yml", ".json", ".csv")
_CASE = re.compile(r"(.+)#(0|[1-9][0-9]*)")
_HEAD = 65_536
_CHUNK = 1 << 20
_NOT_ASCII = bytes(range(0x80, 0x100))
_KNOWN = "a spec holds 'pipeproof: 1', a torch CSV a row of actions for each rank"


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read: `name` as shown, `path` None for standard input, `case` of several in it.

    `found` says that a folder was searched, so that a JSON that is no schedule is passed over.
    """

    name: str
    path: Path | None
    case: int | None = None
    found: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file holds: its text, and each schedule in it."""

    text: str
    documents: tuple[Document, ...]


def expand(paths: Sequence[str]) -> Iterator[Input]:
    """Yield each file that `paths` stand for, once, folders in order of names.

    A path that does not exist is yielded as it is, to fail when it is read.
    """
    seen: set[str] = set()
    for path in paths:
        for each in _expanded(path):
            if each.name not in seen:
                seen.add(each.name)
                yield each


def _expanded(path: str) -> Iterator[Input]:
    if path == "-":
        yield Input(STDIN, None)
    elif os.path.isdir(path):  # noqa: PTH112  a path with a NUL byte is False here, no error
        yield from with_suffix(path, SUFFIXES)
    elif os.path.lexists(path) if "\0" not in path else True:
        yield Input(path, Path(path))
    elif (case := _CASE.fullmatch(path)) and os.path.exists(case[1]):  # noqa: PTH110
        yield Input(path, Path(case[1]), int(case[2]))
    elif glob.has_magic(path):
        for match in sorted(glob.glob(path, recursive=True)):  # noqa: PTH207  relative as given
            yield from _expanded(match)
    else:
        yield Input(path, Path(path))


def with_suffix(folder: str, suffixes: tuple[str, ...]) -> Iterator[Input]:
    """Yield the files below `folder` with one of `suffixes`; hidden ones and loops are left out."""
    visited: set[tuple[int, int]] = set()
    for where, folders, files in os.walk(folder, followlinks=True):
        about = os.stat(where)  # noqa: PTH116
        if (about.st_dev, about.st_ino) in visited:
            folders.clear()
            continue
        visited.add((about.st_dev, about.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(suffixes) and not name.startswith("."):
                path = os.path.join(where, name)  # noqa: PTH118
                yield Input(path, Path(path), found=True)


def load(source: Input, options: ReadOptions) -> Loaded | None:
    """Read `source` with the front-end that knows it.

    Returns:
        None for a JSON in a searched folder that no front-end knows.

    Raises:
        InputError: it cannot be read, is too large, is no UTF-8, or is no schedule.
    """
    stream, size = _open(source)
    with stream if source.path is not None else nullcontext():
        try:
            head = stream.read(_HEAD)
            frontend = _frontend(source, head)
            if frontend is None:
                return None
            limit = "csv-bytes" if frontend.NAME.endswith("csv") else "bytes"
            data = (
                _rest(stream, head, options.limit(limit)) if size <= options.limit(limit) else b""
            )
        except OSError as error:
            raise _refused(source.name, _why(error), "name a file that can be read") from error
    if max(size, len(data)) > options.limit(limit):
        found = f"the file has {size} bytes" if size else "there are more bytes than that"
        raise options.exceeded(Problem(source.name, 1, 1, found, ""), limit)
    try:
        text = data.decode()  # the front-end looks at every character
    except UnicodeDecodeError:
        text = decode(data, source.name)  # says where
    del data, head  # up to 64 MB each beside the text
    base = source.path.parent if source.path is not None else Path()
    read = frontend.read(text, source.name, replace(options, case=source.case, base=base))
    return Loaded(text, read)


def text_of(path: str, options: ReadOptions) -> tuple[str, str]:
    """Return name and text of a file that is no schedule; `-` is standard input.

    Raises:
        InputError: it cannot be read, is too large, or is no UTF-8.
    """
    source = Input(STDIN, None) if path == "-" else Input(path, Path(path))
    stream, _ = _open(source)
    most = options.limit("bytes")
    with stream if source.path is not None else nullcontext():
        try:
            data = _rest(stream, b"", most)
        except OSError as error:
            raise _refused(source.name, _why(error), "name a file that can be read") from error
    if len(data) > most:
        found = f"the file has more than {most} bytes"
        raise options.exceeded(Problem(source.name, 1, 1, found, ""), "bytes")
    return source.name, decode(data, source.name)


def _open(source: Input) -> tuple[BinaryIO, int]:
    """Return the open file and its size, 0 where it is not known before."""
    if source.path is None:
        return sys.stdin.buffer, 0
    try:
        about = source.path.stat()
        pipe = stat.S_ISFIFO(about.st_mode) and source.name.startswith(("/dev/", "/proc/"))
        if not stat.S_ISREG(about.st_mode) and not pipe:
            raise _refused(source.name, "is no regular file", "name a file")
        return source.path.open("rb"), about.st_size
    except OSError as error:
        raise _refused(source.name, _why(error), "name a file that can be read") from error
    except ValueError as error:
        raise _refused(source.name, "is no path", "name a file") from error


class _Frontend(Protocol):
    NAME: str

    def sniff(self, head: str, name: str) -> bool: ...

    def read(self, text: str, name: str, options: ReadOptions) -> tuple[Document, ...]: ...


def _frontend(source: Input, head: bytes) -> _Frontend | None:
    text = head.decode("utf-8", "replace")
    for member in members(frontends):
        if member.sniff(text, source.name):
            return member
    if source.found and source.name.lower().endswith(".json"):
        return None
    decode(head.rstrip(_NOT_ASCII), source.name)  # says where, if that is why nobody knows it
    first = text.split("\n", 1)[0].rstrip("\r")
    found = (
        f"{printable(first)} starts no schedule" if first else "an empty line starts no schedule"
    )
    raise ParseError([Problem(source.name, 1, 1, found, _KNOWN)])


def _rest(stream: BinaryIO, head: bytes, most: int) -> bytes:
    """Return the whole file, of which `head` is read already, or a byte more than `most`."""
    chunks, size = [head], len(head)
    while size <= most and (chunk := stream.read(min(_CHUNK, most + 1 - size))):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _refused(name: str, found: str, expected: str) -> ParseError:
    return ParseError([Problem(name, 1, 1, f"it {found}", expected)])


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"cannot be read ({error.strerror or error})"
