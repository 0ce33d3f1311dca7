"""Repositories and bundles, small; the commands of pipeproof run in this process."""

import contextlib
import io
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeproof.cli import run
from pipeproof.cli._afresh import scheduled
from pipeproof.evidence.commands import Ended, processes
from pipeproof.evidence.create import Created, Options, Plan, create
from pipeproof.evidence.manifest import (
    MANIFEST,
    SUMS,
    Json,
    canonical,
    identity,
    sha256,
    sums,
)
from pipeproof.ir.reading import ReadOptions
from pipeproof.recheck import main as recheck
from pipeproof.schedules import generate
from tests.semantics.made import CROSSED, PASSED_ON, text

ENVIRON = {"PATH": "/usr/bin:/bin", "LANG": "C", "SOURCE_DATE_EPOCH": "1700000000"}
BROKEN = ("0F0; 0B0; 0B0",)  # twice: no certificate shows it
FILES = {
    "legal.yaml": text(*PASSED_ON, fragment=True, transport=["rendezvous", "gloo"]),
    "stuck.yaml": text(*CROSSED, fragment=True, transport="rendezvous"),
    "twice.yaml": text(*BROKEN, transport="rendezvous"),
}

Contents = dict[str, bytes]


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    said = subprocess.run(  # noqa: S603
        ["git", *name, *words],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return said.stdout.decode().strip()


def repository(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    """Make a repository with one commit, the same wherever it is made."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    committed(folder)
    return folder


def committed(folder: Path) -> str:
    at = "2026-01-01T00:00:00Z"
    git(folder, "add", "-A")
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(  # noqa: S603
        ["git", *name, "commit", "-q", "-m", "a", "--date", at],  # noqa: S607
        cwd=folder,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_COMMITTER_DATE": at},
    )
    return git(folder, "rev-parse", "HEAD")


def inside(argv: Sequence[str], folder: Path, logs: Path) -> Ended:
    """Run a command: pipeproof and its second checker in this process."""
    own = {("pipeproof",): run, ("python", "-m", "pipeproof.recheck"): recheck}
    for words, main in own.items():
        if tuple(argv[: len(words)]) == words:
            return _here(main, argv[len(words) :], folder)
    return processes(argv, folder, logs)


def _here(main: Callable[[list[str]], int], argv: Sequence[str], folder: Path) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(argv))
    return Ended(code, out.getvalue().encode(), err.getvalue().encode(), 7)


def plan(root: Path, *names: str, asked: tuple[str, ...] = (), **options: object) -> Plan:
    paths = [str(root / each) for each in names or FILES]
    found = scheduled(paths, root, ReadOptions(generate=generate))
    return Plan(root, tuple(found), Options(), asked, **options)  # type: ignore[arg-type]


def bundle(
    root: Path,
    output: Path,
    *names: str,
    asked: tuple[str, ...] = (),
    environ: Mapping[str, str] = ENVIRON,
) -> Created:
    return create(plan(root, *names, asked=asked), str(output), environ, inside)


def contents(folder: Path) -> Contents:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def manifest(files: Mapping[str, bytes]) -> dict[str, Json]:
    import json  # noqa: PLC0415  its name is that of a key elsewhere

    found = json.loads(files[MANIFEST])
    assert isinstance(found, dict)
    return found


def resealed(files: Contents, change: Callable[[dict[str, Json]], None] | None = None) -> Contents:
    """Return a bundle whose manifest was edited, with every digest, the id and the sums anew."""
    found = manifest(files)
    predicate = found["predicate"]
    assert isinstance(predicate, dict)
    if change is not None:
        change(predicate)
    kept = {name: data for name, data in files.items() if name not in {MANIFEST, SUMS}}
    for each in predicate["inputs"]:
        if each["file"] in kept:
            each["sha256"] = sha256(kept[each["file"]])
    found["subject"] = [
        {"name": name, "digest": {"sha256": sha256(kept[name])}} for name in sorted(kept)
    ]
    predicate["id"] = identity(predicate, kept)
    kept[MANIFEST] = canonical(found)
    return {**kept, SUMS: sums(kept)}


def sealed(files: Contents, found: dict[str, Json]) -> Contents:
    """Return a bundle with this manifest and sums anew, and nothing else."""
    changed = {**files, MANIFEST: canonical(found)}
    return {**changed, SUMS: sums(changed)}
