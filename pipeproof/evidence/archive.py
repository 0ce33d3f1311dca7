"""A bundle as it is read: a folder, a .zip or a .tar.gz; nothing is ever unpacked.

An archive is read in order, with every byte counted. What exceeds a limit, or holds what no bundle
holds (links, devices, names that lead elsewhere), is refused before any of it is believed.
"""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NoReturn

from pipeproof.errors import ParseError, Problem, printable
from pipeproof.evidence.manifest import MANIFEST, SUMS

__all__ = ["MEMBERS", "RATIO", "TOTAL", "Damaged", "read"]

RATIO = 100
TOTAL = 512 << 20
MEMBERS = 5_000
_CHUNK = 1 << 16
_NAME = 255
_DIRECTORY = 4 << 20  # of a zip: more names than any bundle has
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x07"
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    struct.error,
)


class Damaged(ValueError):  # noqa: N818  reads as what it says
    """It was a bundle once: something in it is no longer as it was written."""


def read(path: str) -> Mapping[str, bytes]:
    """Return the files of a bundle by their names in it.

    Raises:
        ParseError: there is none at `path`, it cannot be read, or it is refused.
        Damaged: an archive is cut off or changed, or a folder holds what is no file.
    """
    place = Path(path)
    try:
        kind = place.stat().st_mode
        if stat.S_ISDIR(kind):
            found = _folder(place, path)
        elif stat.S_ISREG(kind):
            found = _archive(place, path)
        else:
            _refuse(path, "it is neither a folder nor a file")
    except OSError as error:
        _refuse(path, f"it cannot be read ({error.strerror or error})")
    except ValueError as error:
        if isinstance(error, Damaged):
            raise
        _refuse(path, "it is no path")
    if MANIFEST not in found and SUMS not in found:
        _refuse(path, f"it holds neither {MANIFEST} nor {SUMS}")
    return found


def _refuse(path: str, found: str) -> NoReturn:
    expected = "name a bundle: a folder, a .zip or a .tar.gz of `pipeproof evidence create`"
    raise ParseError([Problem(path, 1, 1, found, expected)])


class _Count:
    """Counts what comes out of a bundle, and refuses what is too much."""

    def __init__(self, path: str, size: int | None = None) -> None:
        self.path, self.bytes, self.names = path, 0, dict[str, str]()
        self.most = TOTAL if size is None else min(TOTAL, RATIO * size)

    def add(self, number: int) -> None:
        self.bytes += number
        if self.bytes > self.most:
            why = "512 MB" if self.most == TOTAL else f"{RATIO} times its own size"
            _refuse(self.path, f"it holds more than {why}")

    def name(self, name: str) -> str:
        """Return a name as it is kept; one that two files of some system share is refused."""
        name = name.removeprefix("./")
        parts = name.split("/")
        plain = name.isprintable() and "\\" not in name and ":" not in name
        if not plain or len(name) > _NAME or {"", ".", ".."} & {*parts}:
            _refuse(self.path, f"a name in it is {printable(name)}")
        if len(self.names) >= MEMBERS:
            _refuse(self.path, f"it holds more than {MEMBERS} files")
        if name.casefold() in self.names:
            _refuse(self.path, f"two names in it are {printable(name)}")
        self.names[name.casefold()] = name
        return name

    def content(self, stream: IO[bytes]) -> bytes:
        chunks = []
        while chunk := stream.read(_CHUNK):
            self.add(len(chunk))
            chunks.append(chunk)
        return b"".join(chunks)


def _folder(place: Path, path: str) -> dict[str, bytes]:
    count, found = _Count(path), dict[str, bytes]()
    if not any(os.path.lexists(place / each) for each in (MANIFEST, SUMS)):
        return found
    for where, folders, files in os.walk(place, onerror=_raise):
        folders.sort()
        for name in sorted([*files, *folders]):
            each = Path(where) / name
            about = each.lstat().st_mode
            inside = each.relative_to(place).as_posix()
            if stat.S_ISDIR(about):
                continue
            if not stat.S_ISREG(about):
                message = f"{printable(inside)} is no regular file"
                raise Damaged(message)
            try:
                known = count.name(inside)
            except ParseError as error:
                raise Damaged(error.problems[0].found) from error
            with each.open("rb") as stream:
                found[known] = count.content(stream)
    return found


def _raise(error: OSError) -> None:
    raise error


def _archive(place: Path, path: str) -> dict[str, bytes]:
    with place.open("rb") as stream:
        head = stream.read(4)
        stream.seek(0)
        count = _Count(path, place.stat().st_size)
        if head[:2] == b"PK":
            opened = _zip
        elif head[:2] == b"\x1f\x8b":
            opened = _tar
        else:
            _refuse(path, "it is no archive")
        try:
            return _without_prefix(dict(opened(stream, count)))
        except ParseError:
            raise
        except _BROKEN as error:
            message = f"the archive is damaged: {printable(str(error) or type(error).__name__)}"
            raise Damaged(message) from error


def _zip(stream: IO[bytes], count: _Count) -> Iterator[tuple[str, bytes]]:
    _require_small(stream, count)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if len(members) > MEMBERS:
            _refuse(count.path, f"it holds more than {MEMBERS} files")
        for each in members:
            kind = stat.S_IFMT(each.external_attr >> 16)
            if kind not in {0, stat.S_IFREG, stat.S_IFDIR} or each.flag_bits & 1:
                _refuse(count.path, f"{printable(each.filename)} is a link, a device or locked")
            if each.orig_filename != each.filename:
                _refuse(count.path, f"a name in it is {printable(each.orig_filename)}")
            if each.is_dir():
                count.name(each.filename.rstrip("/"))
                continue
            name = count.name(each.filename)
            with archive.open(each) as member:
                yield name, count.content(member)


def _require_small(stream: IO[bytes], count: _Count) -> None:
    """Check the directory of a zip before it is taken into memory.

    Raises:
        ParseError: it is larger than that of any bundle, or one of the long form.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - (1 << 16) - 64))
    tail = stream.read()
    stream.seek(0)
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        message = "its end is missing"
        raise zipfile.BadZipFile(message)
    entries, directory = struct.unpack("<HL", tail[at + 10 : at + 16])
    long_form = tail[max(0, at - 20) : at].startswith(_END_64)
    if long_form or entries > MEMBERS or directory > _DIRECTORY:
        _refuse(count.path, f"it holds more than {MEMBERS} files")


def _tar(stream: IO[bytes], count: _Count) -> Iterator[tuple[str, bytes]]:
    with gzip.GzipFile(fileobj=stream, mode="rb") as unzipped:
        counted = _Counted(unzipped, count)
        with tarfile.open(fileobj=counted, mode="r|") as archive:
            for each in archive:
                if each.isdir():
                    if each.name not in {".", "./"}:
                        count.name(each.name.rstrip("/"))
                    continue
                if each.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or each.sparse is not None:
                    _refuse(count.path, f"{printable(each.name)} is a link, a device or sparse")
                member = archive.extractfile(each)
                data = b"" if member is None else member.read()
                if len(data) != each.size:
                    message = f"{each.name} is cut off"
                    raise tarfile.ReadError(message)
                yield count.name(each.name), data
        while rest := counted.read(_CHUNK):
            if rest.strip(b"\0"):
                message = "something stands behind its end"
                raise tarfile.ReadError(message)


class _Counted(io.RawIOBase):
    """What a stream gives, counted: a tar says sizes that it need not keep."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, count: _Count) -> None:
        super().__init__()
        self._stream, self._count = stream, count

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        chunks, left = [], size
        while left != 0 and (chunk := self._stream.read(_CHUNK if left < 0 else min(left, _CHUNK))):
            self._count.add(len(chunk))
            chunks.append(chunk)
            left -= len(chunk) if left > 0 else 0
        return b"".join(chunks)


def _without_prefix(found: dict[str, bytes]) -> dict[str, bytes]:
    """Return files without the one folder in which an archive may hold them all."""
    tops = {name.partition("/")[0] for name in found}
    if len(tops) != 1 or any("/" not in name for name in found):
        return found
    return {name.partition("/")[2]: data for name, data in found.items()}
