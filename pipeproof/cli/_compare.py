"""Schedules against their expectations: which there are, and what becomes of each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipeproof.cli._exits import Exit, explained
from pipeproof.cli._index import NAME, Listed, read_index
from pipeproof.cli._inputs import Input, expand, load
from pipeproof.cli._output import complain
from pipeproof.errors import InputError, Problem, did_you_mean, printable
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document, Expectation
from pipeproof.ir.transport import names
from pipeproof.verdict.expected import Agreement, Shown, compare, shown, wanted
from pipeproof.verdict.verdict import FileVerdict, Outcome

__all__ = ["Compared", "Task", "compared", "tasks"]


@dataclass(frozen=True, slots=True)
class Task:
    """A file to judge; `listed` where an index says what it must show."""

    source: Input
    listed: Listed | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """An expectation and what became of it, or a file that was not judged: `failed`."""

    path: str
    entry: str = ""
    agreement: Agreement | None = None
    wanted: str = ""
    got: str = ""
    failed: Exit | None = None


def tasks(paths: Sequence[str]) -> Iterator[Task | Compared]:
    """Yield each file that `paths` stand for, and each that an index below them lists.

    A CSV that a folder holds and no index lists has nothing to compare.
    """
    for source in expand(paths):
        if source.found and source.name.lower().endswith(".csv"):
            continue
        if source.path is None or source.path.name != NAME:
            yield Task(source)
            continue
        try:
            index = read_index(source.path)
        except OSError as error:
            said = f"it cannot be read ({error.strerror})"
            problem = Problem(source.name, 1, 1, said, "name a file that can be read")
            yield _failed(source.name, InputError([problem]))
        except InputError as error:
            yield _failed(source.name, error)
        else:
            yield from (Task(Input(str(each.path), each.path), each) for each in index)


def compared(task: Task, options: ReadOptions) -> Iterator[Compared]:
    """Judge a file; yield what becomes of each expectation, or that it cannot be judged.

    A file without an expectation yields nothing.
    """
    listed = task.listed
    if listed is not None:
        stages, microbatches = listed.stages, listed.microbatches
        options = replace(options, profile=listed.profile, stages=stages, microbatches=microbatches)
    try:
        loaded = load(task.source, options)
    except Exception as error:  # sorted there, and never silent
        yield _failed(task.source.name, error)
        return
    for document in loaded.documents if loaded is not None else ():
        judged = _Judged(document)
        for number, entry in enumerate(document.expect if listed is None else listed.expect):
            yield _one(judged, entry, _named(entry, number, listed))


class _Judged:
    """The verdicts of one schedule, each made when it is asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._verdicts: dict[str | None, FileVerdict] = {}

    def under(self, transport: str | None, line: int) -> Shown:
        """Return what the schedule shows under `transport`, None for all of the file's own.

        Raises:
            InputError: there is no such transport; `line` is where it is named.
        """
        own = [each.name for each in self.document.schedule.transports]
        if transport is not None and transport not in (*own, *names()):
            found = f"{printable(transport)} is no transport of this file"
            known = (*own, *(name for name in names() if name not in own))
            expected = f"write one of {', '.join(known)}{did_you_mean(transport, known)}"
            raise InputError([Problem(self.document.name, max(line, 1), 1, found, expected)])
        asked = None if transport in own else transport
        if asked not in self._verdicts:
            self._verdicts[asked] = self._judge(asked)
        return shown(self._verdicts[asked], transport if transport in own else None)

    def _judge(self, transport: str | None) -> FileVerdict:
        from pipeproof.api import Asked, judge  # noqa: PLC0415  imported when needed

        return judge(self.document, Asked(transports=() if transport is None else (transport,)))


def _one(judged: _Judged, entry: Expectation, name: str) -> Compared:
    path = judged.document.name
    try:
        agreement, got = compare(entry, judged.under(entry.transport, entry.line))
    except Exception as error:  # sorted there, and never silent
        failed = _failed(path, error)
        agrees = failed.agreement is not None and entry.verdict == Outcome.UNKNOWN
        agreement_ = Agreement.AGREE if agrees else failed.agreement
        return replace(failed, entry=name, wanted=wanted(entry), agreement=agreement_)
    return Compared(path, name, agreement, wanted(entry), got)


def _named(entry: Expectation, number: int, listed: Listed | None) -> str:
    said = f"line {entry.line}" if entry.line else f"expect[{number}]"
    said += f", {entry.transport}" if entry.transport else ""
    return said if listed is None else f"{said}, profile {listed.profile}"


def _failed(path: str, error: Exception) -> Compared:
    """Return what `error` makes of a file, and say so on stderr; unsupported is unknown."""
    if isinstance(error, InputError):
        complain(str(error))
        return Compared(path, got="it cannot be read", failed=Exit.INPUT)
    said, code = explained(error)
    if code is Exit.UNKNOWN:
        return Compared(path, "file", Agreement.UNKNOWN, "a verdict", f"unknown ({said})")
    complain(f"{path}: {said}")
    return Compared(path, got=f"not judged: {type(error).__name__}: {error}", failed=code)
