"""Evidence from the command line: which schedules, and a schedule of a bundle judged afresh."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import click

from pipeproof import __version__, frontends
from pipeproof.cli._inputs import expand, load
from pipeproof.cli._judge import Judge
from pipeproof.cli._options import Asking, asked, read_options
from pipeproof.errors import InputError, ParseError, PipeproofError, Problem, printable
from pipeproof.evidence.create import Scheduled
from pipeproof.evidence.manifest import Json
from pipeproof.evidence.verify import Found
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.plugins import members
from pipeproof.verdict.result import Result

__all__ = ["afresh", "scheduled"]

_NOWHERE = Path(os.devnull) / "none"
"""Where files that are imported lie while a schedule of a bundle is read: none is taken."""


def scheduled(paths: Sequence[str], root: Path, options: ReadOptions) -> Iterator[Scheduled]:
    """Yield every schedule at `paths`, named from `root`.

    Raises:
        InputError: a file cannot be read, or stands outside of `root`.
    """
    for source in expand(paths):
        if source.path is None:
            said = "standard input is no file that a bundle can speak of; name files"
            raise click.UsageError(said)
        path = _inside(source.path, root, source.name)
        name = path if source.case is None else f"{path}#{source.case}"
        loaded = load(replace(source, name=name), options)
        for document in () if loaded is None else loaded.documents:
            imported = document.origin.get("path")
            also = _inside(Path(imported), root, path) if isinstance(imported, str) else None
            case = document.name.removeprefix(f"{path}#") if document.name != path else ""
            yield Scheduled(document.name, path, int(case) if case.isdecimal() else None, also)


def _inside(path: Path, root: Path, name: str) -> str:
    """Return a path from `root`; what leads out of it, also by a link, is refused."""
    where = Path(os.path.abspath(path))  # noqa: PTH100  links stay as they are named
    try:
        if path.exists() and not path.resolve().is_relative_to(root.resolve()):
            _refuse(name, root)
        found = (where.parent.resolve() / where.name).relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        _refuse(name, root)
    return found.as_posix()


def _refuse(name: str, root: Path) -> NoReturn:
    expected = f"a bundle speaks of files below {printable(str(root), 200)}"
    raise ParseError([Problem(name, 1, 1, "it stands elsewhere", expected)])


def afresh(
    schedule: Mapping[str, Json],
    options: Mapping[str, Json],
    data: bytes,
    imported: bytes | None,
) -> Found:
    """Judge a schedule of a bundle from the bytes of its file, and of that which it imports.

    Where its bytes are no such schedule, import another file, or cannot be read with these
    options, what is returned is a result that no bundle holds.
    """
    try:
        with _beside(schedule, imported) as imports:
            return _judged(schedule, _values(options), data, imports)
    except (PipeproofError, click.UsageError, OSError, ValueError):
        return Found(None, {})


@contextmanager
def _beside(
    schedule: Mapping[str, Json], imported: bytes | None
) -> Iterator[tuple[Path, Path | None, Path]]:
    """Give where imports start from, the file that is imported, None for none, and the root."""
    if imported is None:
        yield _NOWHERE, None, _NOWHERE
        return
    with TemporaryDirectory(prefix="pipeproof-") as folder:
        root = Path(folder).resolve()
        path, base = root / str(schedule["imports"]), (root / str(schedule["path"])).parent
        for each in (path.parent, base):
            each.mkdir(parents=True, exist_ok=True)
        path.write_bytes(imported)
        yield base, path, root


def _judged(
    schedule: Mapping[str, Json],
    values: Asking,
    data: bytes,
    imports: tuple[Path, Path | None, Path],
) -> Found:
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.reports.json import render  # noqa: PLC0415

    text = data.decode("utf-8", "replace")
    path, case = str(schedule["path"]), schedule["case"]
    reading = replace(read_options(values), base=imports[0])
    question = asked(values)
    name = str(schedule["name"])
    one = replace(reading, case=case if isinstance(case, int) else None)
    for document in (*_documents(path, text, reading), *_documents(name, text, one)):
        if document.name == name and _imported(document) == imports[1]:
            report = Judge(reading, question).report(document, text)
            told = render(Result(__version__, (report,)))
            if imports[1] is not None:  # it lies elsewhere than it lay
                told = told.replace(_as_json(f"{imports[2]}{os.sep}"), "")
            entry = json.loads(told)["files"][0]
            try:
                as_run = api.as_run(document, question)
            except PipeproofError:
                as_run = None
            return Found(as_run, entry)
    return Found(None, {})


def _as_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _imported(document: Document) -> Path | None:
    path = document.origin.get("path")
    return Path(os.path.normpath(path)) if isinstance(path, str) else None


def _documents(path: str, text: str, options: ReadOptions) -> Iterable[Document]:
    for member in members(frontends):
        if member.sniff(text[:65_536], path):
            try:
                read: tuple[Document, ...] = member.read(text, path, options)
            except InputError:
                return ()
            return read
    return ()


def _values(options: Mapping[str, Json]) -> Asking:
    return {
        "transport": tuple(_texts(options["transport"])),
        "profile": _text(options["profile"]),
        "lowering": _text(options["lowering"]),
        "microbatches": _number(options["microbatches"]),
        "stages": _number(options["stages"]),
        "limit": tuple(_texts(options["limit"])),
    }


def _texts(value: Json) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) else None
