"""Whether a bundle is whole, holds together, and speaks of what is there now."""

import stat
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

from pipeproof.errors import printable
from pipeproof.evidence import archive, repository
from pipeproof.evidence._content import Again, Checked, Found, checked
from pipeproof.evidence._shape import Json, Malformed, rows, table, text
from pipeproof.evidence.environment import tool
from pipeproof.evidence.manifest import MANIFEST, SUMS, read, sha256, sums, supported

__all__ = [
    "Again",
    "Checked",
    "Commit",
    "Files",
    "Found",
    "Now",
    "Reason",
    "Status",
    "Verified",
    "verify",
    "verify_at",
]


_LARGEST = 512 << 20


class Status(Enum):
    """What is answered of a bundle; where several hold, the first in this order."""

    TAMPERED = 14
    UNSUPPORTED_SCHEMA = 15
    TOOL_DIFFERS = 13
    STALE_INPUTS_CHANGED = 11
    DIRTY_TREE = 12
    HEAD_MOVED_INPUTS_SAME = 10
    FRESH = 0


class Reason(NamedTuple):
    """Why a status holds."""

    status: Status
    why: str


class Verified(NamedTuple):
    """What was found of a bundle: `status` is the first of `reasons`, or FRESH without any.

    What it says is told only where it is whole and of a known schema: else `predicate` is empty.
    """

    status: Status
    reasons: tuple[Reason, ...]
    predicate: Mapping[str, Json]
    checked: tuple[Checked, ...] = ()
    now: str | None = None


class Now(Protocol):
    """What a bundle is compared with; `commit` is None where only files are."""

    @property
    def commit(self) -> str | None:
        """Return the commit that there is now."""

    def digest(self, path: str) -> str | None:
        """Return the SHA-256 of a file from the root, None where it is not there."""


class Files(NamedTuple):
    """The files below a folder, as they are, and the commit that is checked out there."""

    root: Path
    commit: str | None

    def digest(self, path: str) -> str | None:
        """Return the SHA-256 of a file as it is; what is no file of a size to read is not there."""
        place = self.root / path
        try:
            about = place.stat()
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
                return None
            return sha256(place.read_bytes())
        except (OSError, ValueError):
            return None


class Commit(NamedTuple):
    """A commit by its id, and the repository that holds it, if one is there."""

    commit: str
    root: Path | None

    def digest(self, path: str) -> str | None:
        """Return the SHA-256 of what a file held in the commit."""
        found = None if self.root is None else repository.content(self.root, self.commit, path)
        return None if found is None else sha256(found)


def verify(contents: Mapping[str, bytes], now: Now, again: Again | None = None) -> Verified:
    """Return what is to be said of a bundle.

    Args:
        contents: its files by name.
        now: what it is compared with.
        again: judges a schedule afresh, where that is wanted; it is asked only where the bundle
            is of the program that runs here.
    """
    spoiled = _sums(contents)
    if spoiled is not None:
        return _tampered(spoiled)
    known = supported(contents[MANIFEST])
    if known is None:
        return _tampered(f"{MANIFEST} is no statement")
    if not known:
        why = "its manifest is of a schema that this version does not read"
        return Verified(*_one(Status.UNSUPPORTED_SCHEMA, why), {})
    try:
        manifest = read(contents[MANIFEST])
        predicate = table(manifest["predicate"])
        found = checked(manifest, contents, again, same=predicate["tool"] == tool())
    except Malformed as error:
        return _tampered(str(error))
    except RecursionError:
        return _tampered("something in it nests too deeply")
    reasons = _reasons(predicate, now)
    status = reasons[0].status if reasons else Status.FRESH
    return Verified(status, tuple(reasons), predicate, tuple(found), now.commit)


def verify_at(path: str, now: Now, again: Again | None = None) -> Verified:
    """Return what is to be said of the bundle at `path`, a folder or an archive.

    Raises:
        ParseError: there is none, it cannot be read, or it is an archive that is refused.
    """
    try:
        contents = archive.read(path)
    except archive.Damaged as error:
        return _tampered(str(error))
    return verify(contents, now, again)


def _tampered(why: str) -> Verified:
    return Verified(*_one(Status.TAMPERED, why), {})


def _one(status: Status, why: str) -> tuple[Status, tuple[Reason, ...]]:
    return status, (Reason(status, why),)


def _sums(contents: Mapping[str, bytes]) -> str | None:
    """Return what differs from the sums, None where nothing does.

    The sums have one way to be written, so that they are compared as a text.
    """
    for each in (SUMS, MANIFEST):
        if each not in contents:
            return f"{each} is missing"
    if contents[SUMS] == sums(contents):
        return None
    told = dict(_told(contents[SUMS]))
    for name in sorted({*told, *contents} - {SUMS}):
        if name not in contents:
            return f"{name} is missing"
        if name not in told:
            return f"{name} is not in {SUMS}"
        if told[name] != sha256(contents[name]):
            return f"{name} is not what {SUMS} says"
    return f"{SUMS} is not written as it should be"


def _told(text_: bytes) -> list[tuple[str, str]]:
    lines = text_.decode("utf-8", "replace").splitlines()
    return [(line[66:], line[:64]) for line in lines]


def _reasons(predicate: Mapping[str, Json], now: Now) -> list[Reason]:
    """Return what keeps a bundle from being fresh, in order of precedence."""
    found = [_tool(predicate), _stale(predicate, now), _dirty(predicate), _moved(predicate, now)]
    return [each for each in found if each is not None]


def _tool(predicate: Mapping[str, Json]) -> Reason | None:
    made, here = table(predicate["tool"]), tool()
    if made == here:
        return None
    if made["version"] != here["version"]:
        why = f"it was made by version {made['version']}, this is {here['version']}"
    else:
        why = f"it was made by another build of version {made['version']}"
    return Reason(Status.TOOL_DIFFERS, why)


def _stale(predicate: Mapping[str, Json], now: Now) -> Reason | None:
    inputs = [table(each) for each in rows(predicate["inputs"])]
    commit = table(predicate["repository"])["commit"]
    if isinstance(now, Commit) and now.root is None:
        if _is_commit(commit, now.commit):
            return None
        why = f"the inputs at {now.commit} cannot be read here; taken as changed"
        return Reason(Status.STALE_INPUTS_CHANGED, why)
    there = {text(each["path"]): now.digest(text(each["path"])) for each in inputs}
    changed = [path for each in inputs if there[path := text(each["path"])] != each["sha256"]]
    if not changed:
        return None
    more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
    word = "is not there" if there[changed[0]] is None else "is another than was checked"
    return Reason(Status.STALE_INPUTS_CHANGED, f"{printable(changed[0])} {word}{more}")


def _dirty(predicate: Mapping[str, Json]) -> Reason | None:
    said = table(predicate["repository"])
    if said["commit"] is None:
        return Reason(Status.DIRTY_TREE, f"no commit vouches for it: {said['why']}")
    if said["dirty"]:
        return Reason(Status.DIRTY_TREE, "it was made of a tree that differed from its commit")
    return None


def _moved(predicate: Mapping[str, Json], now: Now) -> Reason | None:
    commit = table(predicate["repository"])["commit"]
    if now.commit is None or _is_commit(commit, now.commit):
        return None
    why = f"it is of {commit}, and this is {now.commit}"
    return Reason(Status.HEAD_MOVED_INPUTS_SAME, why)


def _is_commit(commit: Json, named: str) -> bool:
    return isinstance(commit, str) and commit.startswith(named)
