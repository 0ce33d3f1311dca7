"""Verdicts that were reached before, in files of the user's own, by the digest of what they are of.

What stands there is believed: `docs/trust.md` says what that takes for granted.
"""

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, TypeVar

import click
from click.core import ParameterSource

from pipeproof.cli._cache_key import digest_of
from pipeproof.cli._output import complain
from pipeproof.ir.source import Document
from pipeproof.verdict.stored import decoded, encoded
from pipeproof.verdict.verdict import FileVerdict, Outcome

if TYPE_CHECKING:
    from pipeproof.api import Asked

__all__ = ["Cache", "Caching", "cache_dir_option", "cache_options", "cached", "folder_of"]

_F = TypeVar("_F", bound=Callable[..., int])
_FORM = "1"
_ENTRY = re.compile(r"[0-9a-f]{64}\.json")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{16}")
_TAG = "CACHEDIR.TAG"
_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n"
_MOST = 256 << 20  # bytes of all entries
_LONGEST = 8 << 20  # bytes of one
_ABANDONED = 3600.0  # seconds
_DECIDED = (Outcome.PROVED, Outcome.REFUTED)

Judge = Callable[[Document, "Asked"], FileVerdict]

cache_dir_option = click.option(
    "--cache-dir",
    metavar="DIR",
    envvar="PIPEPROOF_CACHE_DIR",
    help="Where verdicts are kept, instead of the user's cache folder.",
)


class Caching(TypedDict):
    """What the options of `cache_options` hold."""

    cache: bool
    cache_dir: str | None


def cache_options(function: _F) -> _F:
    """Add the options that ask for verdicts to be kept and taken up again."""
    told = "Keep what is proved or refuted, and take it up where the same is asked again."
    return click.option("--cache/--no-cache", default=False, help=told)(cache_dir_option(function))


def folder_of(written: str | None) -> Path:
    """Return where verdicts are kept: the folder that is named, or the user's."""
    if written is not None:
        return Path(written)
    from platformdirs import user_cache_path  # noqa: PLC0415  imported when needed

    return user_cache_path("pipeproof", appauthor=False)


def cached(values: Caching, unless: dict[str, bool]) -> "Cache | None":
    """Return the cache that is asked for, none where something asks for what it cannot give.

    Args:
        values: what the options hold.
        unless: by its name, whether something keeps verdicts from being taken up.

    Raises:
        click.UsageError: it is said where the cache is, and not that there is one.
    """
    if not values["cache"]:
        context = click.get_current_context(silent=True)
        source = None if context is None else context.get_parameter_source("cache_dir")
        if source is ParameterSource.COMMANDLINE:
            said = "--cache-dir goes with --cache."
            raise click.UsageError(said)
        return None
    against = [name for name, holds in unless.items() if holds]
    if against:
        complain(f"the cache is not used with {', '.join(against)}")
        return None
    return Cache(folder_of(values["cache_dir"]))


class _Kept(NamedTuple):
    """An entry as the folder tells of it."""

    used: float
    size: int
    path: Path


class Cache:
    """Verdicts by digest. Where the folder or an entry cannot be used, what is asked is judged."""

    def __init__(self, folder: Path, most: int = _MOST) -> None:
        """Name the folder, and how many bytes are kept in it."""
        self.folder, self._most = folder, most
        self.asked = self.taken_up = 0
        self._kept = False
        self._usable: bool | None = None
        self._why_not: str | None = None

    def verdict(self, document: Document, asked: "Asked", judge: Judge) -> FileVerdict:
        """Return what was found before where the same was asked, else what `judge` finds."""
        self.asked += 1
        key = digest_of(document, asked)
        if key is None or not self._is_ours():
            return judge(document, asked)
        found = self._look_up(key, document)
        if found is not None:
            self.taken_up += 1
            return found
        verdict = judge(document, asked)
        self._keep(key, verdict, document)
        return verdict

    def close(self) -> None:
        """Say what was taken up, and why nothing is kept; remove what is too much."""
        if self.taken_up:
            said = f"{self.taken_up} of {self.asked} verdicts were reached before"
            complain(f"{said} and are taken from {self.folder}")
        if self._why_not is not None:
            complain(f"no verdict is kept in {self.folder}: {self._why_not}")
        if self._kept:
            self._prune()

    def clean(self) -> int:
        """Remove every entry, and nothing else; return how many there were."""
        entries = [*self._entries(_ENTRY)]
        for each in (*entries, *self._entries(_UNFINISHED)):
            _remove(each.path)
        for path in (*self._shelves(), self._shelf("")):
            with suppress(OSError):
                path.rmdir()
        with suppress(OSError):
            tag = self.folder / _TAG
            if tag.read_text(encoding="utf-8", errors="replace") == _SIGNATURE:
                tag.unlink()
        return len(entries)

    def _shelf(self, key: str) -> Path:
        """Return where the entry of a digest lies; of the empty one, where all lie."""
        return self.folder / f"verdicts-{_FORM}" / key[:2]

    def _is_ours(self) -> bool:
        """Whether the folder is there, is the user's, and nobody else can write to it."""
        if self._usable is None:
            self._why_not = self._trouble()
            self._usable = self._why_not is None
        return self._usable

    def _trouble(self) -> str | None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            about = self.folder.stat()
        except (OSError, ValueError) as error:
            return _why(error)
        if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
            return "it belongs to somebody else"
        if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.name == "posix":
            return "others can write to it"
        return None

    def _look_up(self, key: str, document: Document) -> FileVerdict | None:
        path = self._shelf(key) / f"{key}.json"
        try:
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with open(os.open(path, flags), "rb") as file:  # noqa: PTH123  without following links
                data = file.read(_LONGEST + 1)
        except OSError:
            return None
        found = _read(data, key)
        if found is None or not _is_of(found, document):
            return None
        with suppress(OSError):
            os.utime(path)
        return replace(found, path=document.name)

    def _keep(self, key: str, verdict: FileVerdict, document: Document) -> None:
        keeps = self._why_not is None and _is_decided(verdict) and _is_of(verdict, document)
        if not keeps:
            return
        nameless = replace(verdict, path="")
        try:
            data = _headed(key, json.dumps(encoded(nameless), separators=(",", ":")).encode())
        except (TypeError, ValueError):
            return
        if len(data) > _LONGEST or _read(data, key) != nameless:
            return
        shelf = self._shelf(key)
        unfinished = shelf / f".{key}.{secrets.token_hex(8)}"
        try:
            for folder in (shelf.parent, shelf):
                folder.mkdir(exist_ok=True, mode=0o700)
            self._tag()
            _write(data, unfinished, shelf / f"{key}.json")
        except OSError as error:
            self._why_not = _why(error)
            return
        self._kept = True

    def _tag(self) -> None:
        """Say to programs that make backups that this is a cache."""
        with suppress(FileExistsError), (self.folder / _TAG).open("x", encoding="utf-8") as file:
            file.write(_SIGNATURE)

    def _shelves(self) -> list[Path]:
        with suppress(OSError), os.scandir(self._shelf("")) as found:
            return [Path(each) for each in found if each.is_dir(follow_symlinks=False)]
        return []

    def _entries(self, named: re.Pattern[str]) -> Iterator[_Kept]:
        for shelf in self._shelves():
            with suppress(OSError), os.scandir(shelf) as found:
                for each in found:
                    if named.fullmatch(each.name) and each.is_file(follow_symlinks=False):
                        about = each.stat(follow_symlinks=False)
                        yield _Kept(about.st_mtime, about.st_size, Path(each))

    def _prune(self) -> None:
        """Remove what was longest not used until nine tenths of what may be kept are left."""
        for each in self._entries(_UNFINISHED):
            if time.time() - each.used > _ABANDONED:
                _remove(each.path)
        entries = sorted(self._entries(_ENTRY))
        left = sum(each.size for each in entries)
        if left <= self._most:
            return
        for each in entries:
            if left <= self._most * 9 // 10:
                return
            _remove(each.path)
            left -= each.size


def _is_decided(verdict: FileVerdict) -> bool:
    """Whether everything that was asked is proved or refuted, and nothing was left open."""
    return verdict.outcome in _DECIDED and all(
        each.outcome in _DECIDED and not each.unknown for each in verdict.transports
    )


def _is_of(verdict: FileVerdict, document: Document) -> bool:
    """Whether a verdict can be one of a schedule: its numbers, and the places that it names."""
    schedule = document.schedule
    size = (schedule.stages, schedule.ranks, schedule.microbatches, len(schedule.operations))
    told = (verdict.stages, verdict.ranks, verdict.microbatches, verdict.operations)
    places = [place for each in verdict.transports for v in each.violations for place in v.at]
    places += [each.at for transport in verdict.transports for each in transport.explanations]
    within = (-1 <= each.row < size[3] and 0 <= each.rank < size[1] for each in places)
    return told == size and all(within)


def _read(data: bytes, key: str) -> FileVerdict | None:
    """Return the verdict in an entry, None where it is another's, damaged, or no entry."""
    body = data.partition(b"\n")[2]
    if len(data) > _LONGEST or data != _headed(key, body):
        return None
    try:
        found = decoded(json.loads(body))
    except (ValueError, RecursionError):
        return None
    return found if _is_decided(found) else None


def _headed(key: str, body: bytes) -> bytes:
    head = {"pipeproof": f"verdict/{_FORM}", "of": key, "sha256": hashlib.sha256(body).hexdigest()}
    return json.dumps(head).encode() + b"\n" + body


def _write(data: bytes, unfinished: Path, path: Path) -> None:
    """Write a file that is there as a whole or not at all, for the user alone.

    Raises:
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(unfinished, flags, 0o600), "wb") as file:  # noqa: PTH123  as above
            file.write(data)
        unfinished.replace(path)
    except BaseException:
        _remove(unfinished)
        raise


def _remove(path: Path) -> None:
    with suppress(OSError):  # another process was first
        path.unlink()


def _why(error: OSError | ValueError) -> str:
    return (error.strerror or "it fails") if isinstance(error, OSError) else "it is no path"
