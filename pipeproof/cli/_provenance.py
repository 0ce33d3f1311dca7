"""Where a result comes from: its command, its commit, its schedule and what numbers came of."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeproof import __version__
from pipeproof.cli import ARGV
from pipeproof.verdict.result import Json

if TYPE_CHECKING:
    from pipeproof.ir.source import Document

__all__ = ["came_of", "commit", "line"]

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_SECONDS = 5


def came_of(  # noqa: PLR0913  each says one thing
    document: "Document",
    transport: str | None,
    witness: str,
    seeds: Sequence[int],
    *,
    runs_on: str = "one process",
    device: str = "cpu",
) -> dict[str, Json]:
    """Return what a result came of, as JSON holds it.

    Args:
        document: the schedule; its digest is that of its certificates.
        transport: under which it was judged, None for several.
        witness: the model that was run.
        seeds: those of its data.
        runs_on: what carried messages.
        device: where it was computed.
    """
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.execution.provenance import provenance  # noqa: PLC0415  so is torch
    from pipeproof.ir.canonical import digest  # noqa: PLC0415
    from pipeproof.lowering.lower import lower  # noqa: PLC0415

    said = asdict(provenance(lower(document.schedule), witness, seeds, device))
    versions = {"pipeproof": __version__, **said.pop("versions")}
    return {
        "command": _command(),
        "commit": commit(document.name),
        "versions": versions,
        "schedule": digest(api.as_run(document)),
        **({} if transport is None else {"transport": transport}),
        "runs_on": runs_on,
        **said,
    }


def _command() -> list[Json]:
    """Return the command as it was written, from its subcommand on."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    held = context.find_root().meta.get(ARGV)
    return [str(each) for each in held] if isinstance(held, list | tuple) else []


@lru_cache(maxsize=256)
def commit(path: str) -> dict[str, Json] | None:
    """Return the commit of the repository around a file, or around where the command runs.

    None where neither stands in one. `dirty` says whether tracked files differ from it, or the
    file itself is not part of it.
    """
    file = Path(path if Path(path).exists() else path.rpartition("#")[0])
    heads = ((each, _git(each, "rev-parse", "--verify", "HEAD")) for each in (file.parent, Path()))
    folder, head = next(((f, h) for f, h in heads if h is not None), (Path(), None))
    if head is None:
        return None
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    name = str(file.absolute())
    known = not file.is_file() or _git(folder, "ls-files", "--error-unmatch", name) is not None
    return {"id": head.strip(), "dirty": changed != "" or not known}


def _git(folder: Path, *words: str) -> str | None:
    """Return what git says, None where it refuses or is not there; it runs nothing of its own."""
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            [*_GIT, *words],
            capture_output=True,
            cwd=folder,
            env=environ,
            check=False,
            timeout=_SECONDS,
            text=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None


def line(said: Mapping[str, Json]) -> str:
    """Return what a result came of in one line."""
    told = {**said, "commit": said.get("commit") or "none, in no git repository"}
    return "came of: " + "; ".join(f"{name} {_words(value)}" for name, value in told.items())


def _words(value: Json) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(each)}" for name, each in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    return "none" if value is None else " ".join(map(_words, value))
