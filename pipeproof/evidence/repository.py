"""What git says of the files that are checked: commit, what differs, where it comes from."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeproof.evidence._shape import Json
from pipeproof.evidence.manifest import sha256

__all__ = ["Repository", "content", "described", "head", "known", "scrubbed", "top"]

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD")
_SECONDS = 60
_USER = re.compile(r"^([a-z][a-z0-9+.-]*://)?[^/]*@", re.IGNORECASE)
NO_GIT = "git is not installed"
NO_REPOSITORY = "there is no git repository"
NO_COMMIT = "the repository has no commit"


class Repository(NamedTuple):
    """What git says; `why` says why there is no commit, None where there is one."""

    commit: str | None
    dirty: bool
    diff: str | None
    remote: str | None
    why: str | None

    def plain(self) -> Mapping[str, Json]:
        """Return it as JSON holds it."""
        return self._asdict()


def top(folder: Path) -> Path | None:
    """Return the root of the repository around a folder, None where there is none."""
    found = _git(folder, "rev-parse", "--show-toplevel")
    return None if found is None else Path(os.fsdecode(found.removesuffix(b"\n"))).resolve()


def described(root: Path, inputs: Sequence[str]) -> Repository:
    """Return what git says of the tree at `root` and of the files at `inputs` in it.

    It is dirty where a tracked file differs from the commit, or an input is not what the commit
    holds, also where git was told to look away. Never guessed: without git, a repository or a
    commit it says so.
    """
    commit = head(root)
    if commit is None:
        return Repository(None, True, None, None, _why(root))  # noqa: FBT003  named by the tuple
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    unknown = not all(_is_part(root, commit, each) for each in inputs)
    diff = _git(root, *_DIFF) or b""
    remote = _git(root, "config", "--get", "remote.origin.url") or b""
    where = scrubbed(remote.decode("utf-8", "replace").strip())
    dirty = changed != b"" or unknown
    return Repository(commit, dirty, sha256(diff) if diff else None, where or None, None)


def head(root: Path) -> str | None:
    """Return the commit that is checked out, None where there is none."""
    return _commit(root, "HEAD")


def known(root: Path, name: str) -> str | None:
    """Return the whole id of a commit by its begin, None where the repository does not hold it.

    A branch or a tag of that name is no commit of that id.
    """
    found = _commit(root, name)
    return found if found is not None and found.startswith(name) else None


def content(root: Path, commit: str, path: str) -> bytes | None:
    """Return what a file held in a commit, through links in it; None where it was not there."""
    found = _blob(root, commit, path)
    return None if found is None else found[1]


def _blob(root: Path, commit: str, path: str) -> tuple[bytes, bytes] | None:
    """Return the id and the content of a file in a commit, None where it was not there."""
    asked = os.fsencode(f"{commit}:{path}")
    if b"\n" in asked:  # no line of a batch can ask for it
        return None
    found = _git(root, "cat-file", "--batch", "--follow-symlinks", said=asked + b"\n") or b""
    first, _, data = found.partition(b"\n")
    words = first.split(b" ")
    if len(words) != 3 or words[1] != b"blob" or not words[2].isdigit():  # noqa: PLR2004  a line
        return None
    return words[0], data[: int(words[2])]


def _is_part(root: Path, commit: str, path: str) -> bool:
    """Whether a file is what a commit holds, as git would keep it."""
    found, now = _blob(root, commit, path), _git(root, "hash-object", "--", path)
    return found is not None and now is not None and now.strip() == found[0]


def scrubbed(remote: str) -> str:
    """Return the address of a repository without user, password, query and fragment.

    A folder of this machine is no address that anybody else knows: it is left out.
    """
    plain = re.split(r"[?#]", remote, maxsplit=1)[0]
    is_address = "://" in plain or re.match(r"[^/]+:", plain) is not None
    if not is_address or plain.lower().startswith("file:"):
        return ""
    return _USER.sub(lambda found: found[1] or "", plain)


def _commit(root: Path, name: str) -> str | None:
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return None if found is None else found.decode("ascii", "replace").strip()


def _why(root: Path) -> str:
    if _git(root, "--version") is None:
        return NO_GIT
    return NO_REPOSITORY if top(root) is None else NO_COMMIT


def _git(folder: Path, *words: str, said: bytes = b"") -> bytes | None:
    """Return what git says, None where it refuses or is not there; it runs nothing of its own."""
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environ = {**os.environ, **quiet, "GIT_NO_REPLACE_OBJECTS": "1"}
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            [*_GIT, *words],
            capture_output=True,
            input=said,
            cwd=folder,
            env=environ,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
