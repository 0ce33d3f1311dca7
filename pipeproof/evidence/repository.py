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
_USER = re.compile(r"^([a-z][a-z0-9+.-]*://)?[^/@]*@", re.IGNORECASE)
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

    It is dirty where a tracked file differs from the commit, or an input is not part of it. Never
    guessed: without git, a repository or a commit it says so.
    """
    commit = head(root)
    if commit is None:
        return Repository(None, True, None, None, _why(root))  # noqa: FBT003  named by the tuple
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    unknown = any(content(root, commit, each) is None for each in inputs)
    diff = _git(root, *_DIFF) or b""
    remote = _git(root, "config", "--get", "remote.origin.url") or b""
    where = scrubbed(remote.decode("utf-8", "replace").strip())
    dirty = changed != b"" or unknown
    return Repository(commit, dirty, sha256(diff) if diff else None, where or None, None)


def head(root: Path) -> str | None:
    """Return the commit that is checked out, None where there is none."""
    return _commit(root, "HEAD")


def known(root: Path, name: str) -> str | None:
    """Return the whole id of a commit, None where the repository does not hold it."""
    return _commit(root, name)


def content(root: Path, commit: str, path: str) -> bytes | None:
    """Return what a file held in a commit, None where it was not there."""
    return _git(root, "cat-file", "blob", f"{commit}:{path}")


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


def _git(folder: Path, *words: str) -> bytes | None:
    """Return what git says, None where it refuses or is not there; it runs nothing of its own."""
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            [*_GIT, *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env=environ,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
