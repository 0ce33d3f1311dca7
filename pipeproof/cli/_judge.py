"""Files in, reports out: a file that fails does not stop the others."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeproof.cli._exits import Exit, explained
from pipeproof.cli._inputs import Input, Loaded, load
from pipeproof.cli._output import complain
from pipeproof.cli._seen import seen
from pipeproof.errors import InputError, UsageError
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.verdict.result import Failure, FileReport, Json, quoted

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.cli._cache import Cache
    from pipeproof.cli._frontier import Bookmark
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision
    from pipeproof.verdict.verdict import FileVerdict

__all__ = ["Judge", "reported"]


@dataclass(frozen=True, slots=True)
class Judge:
    """How files are read, what is asked about each schedule in them, and where it is taken up.

    With a `witness` every counterexample is replayed on it. Where it `keeps`, each report holds its
    schedule and what it was judged by, with `places` the schedule alone. What the `cache` knows is
    not judged again. Files that specs import are added to `read`.
    """

    options: ReadOptions
    asked: "Asked"
    bookmark: "Bookmark | None" = None
    witness: str | None = None
    keeps: bool = False
    cache: "Cache | None" = None
    read: set[str] = field(default_factory=set)
    places: bool = False

    def reports(self, source: Input) -> Iterator[FileReport]:
        """Yield a report for each schedule in `source`; what is wrong with it is told on stderr."""
        loaded = self._load(source)
        if isinstance(loaded, FileReport):
            yield loaded
        elif loaded is not None:
            if self.bookmark is not None:
                self.bookmark.require_one(len(loaded.documents))
            for document in loaded.documents:
                yield self.report(document, loaded.text)

    def _load(self, source: Input) -> Loaded | FileReport | None:
        try:
            return load(source, self.options)
        except Exception as error:  # sorted below, and never silent
            return reported(source.name, error)

    def report(self, document: Document, text: str = "") -> FileReport:
        """Return the report for `document`, whose operations stand in `text`."""
        kept: list[tuple[Model, Decision]] = []
        imported = document.origin.get("path")
        self.read.update((imported,) if isinstance(imported, str) else ())
        try:
            verdict, came = self._verdict(document, kept)
            file, text = _written(document, text)
            quotes = quoted(verdict, document.places, text, file)
        except Exception as error:  # sorted below, and never silent
            return reported(document.name, error)
        report = FileReport(document.name, verdict, quotes=quotes, provenance=came)
        report = replace(report, document=document) if self.keeps or self.places else report
        return replace(report, kept=tuple(kept)) if self.keeps else report

    def _verdict(
        self, document: Document, kept: "list[tuple[Model, Decision]]"
    ) -> "tuple[FileVerdict, Mapping[str, Json] | None]":
        from pipeproof.api import judge  # noqa: PLC0415  what judges is imported when needed

        question = self._asked(document)
        keeps = self.keeps or self.witness is not None
        if self.cache is not None and not keeps:
            return self.cache.verdict(document, question, judge), None
        verdict = judge(document, question, kept) if keeps else judge(document, question)
        if self.witness is None:
            return verdict, None
        from pipeproof.execution.provenance import settled  # noqa: PLC0415  torch, when needed

        with settled():
            return seen(verdict, kept, self.witness), _came_of(document, self.witness)

    def _asked(self, document: Document) -> "Asked":
        if self.bookmark is None:
            return self.asked
        frontiers = self.bookmark.open(document, self.asked)
        return replace(self.asked, effort=replace(self.asked.effort, frontiers=frontiers))


def _came_of(document: Document, witness: str) -> Mapping[str, Json]:
    from pipeproof.cli._provenance import came_of  # noqa: PLC0415  imported when needed
    from pipeproof.execution.confirm import SEEDS  # noqa: PLC0415  torch, when needed

    return came_of(document, None, witness, SEEDS)


def _written(document: Document, text: str) -> tuple[str | None, str]:
    """Return the file in which the programs stand, if it is an imported one, and its text."""
    path = document.origin.get("path")
    if not isinstance(path, str):
        return None, text
    return path, Path(path).read_text(encoding="utf-8", errors="replace")


def reported(path: str, error: Exception) -> FileReport:
    """Return what becomes of a file on which `error` was raised; say on stderr what is wrong.

    Raises:
        UsageError: it is no file that is wrong, but an option.
    """
    if isinstance(error, UsageError):
        raise error
    if isinstance(error, InputError):
        complain(str(error))
        return FileReport(path, problems=error.problems)
    said, code = explained(error)
    if code is Exit.UNKNOWN:
        return FileReport(path, unsupported=said)
    complain(f"{path}: {said}")
    if code is Exit.DISTRUST:
        return FileReport(path, failure=Failure(said, 4))
    short = f"internal error: {type(error).__name__}: {error}".rstrip(": ")
    return FileReport(path, failure=Failure(short, 101))
