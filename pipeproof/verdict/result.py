"""What one run of the command found: each file's verdict, or why it has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from pipeproof.errors import Problem
from pipeproof.ir.source import Document, Places
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import FileVerdict, Outcome, Place

__all__ = [
    "ERROR",
    "Compared",
    "Entry",
    "Failure",
    "FileReport",
    "Json",
    "Quote",
    "Result",
    "quoted",
]

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

ERROR = "error"
_ORDER = ("refuted", ERROR, "unknown", "proved")


@dataclass(frozen=True, slots=True)
class Quote:
    """Where an operation stands, from 1, and the whole line as it stands there.

    `file` is named where it is another than the file that was judged.
    """

    line: int
    column: int
    text: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Something of ours that broke on a file: 4 do not trust, 101 a bug."""

    message: str
    exit_code: Literal[4, 101]


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding of a baseline, which somebody has accepted: why, and when (an ISO date).

    It is found by its fingerprint; rule, path and message are for people, but the first two have
    to be so. It covers `count` findings under each of `transports`.
    """

    fingerprint: str
    rule: str
    path: str
    message: str
    reason: str
    date: str
    transports: tuple[str, ...]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Compared:
    """What a baseline said of a result: the file, how many findings it accepts, what is gone.

    `elsewhere` is how many of its entries are of files that were not judged.
    """

    file: str
    accepted: int
    gone: tuple[Entry, ...]
    elsewhere: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """One schedule and what became of it: a verdict, or else why there is none.

    `problems` are mistakes in the file, `unsupported` says what is not modelled. `quotes` holds,
    by row of the operation table, what stands at the places that the violations name. `provenance`
    is what numbers came of, where counterexamples were run. `document` and `kept`, the schedule
    and for each transport (and outcome of choices) what it was judged by, are there only for a
    report that draws executions.
    """

    path: str
    verdict: FileVerdict | None = None
    problems: tuple[Problem, ...] = ()
    unsupported: str | None = None
    failure: Failure | None = None
    quotes: Mapping[int, Quote] = field(default_factory=lambda: MappingProxyType({}))
    provenance: Mapping[str, Json] | None = None
    document: Document | None = field(default=None, compare=False, repr=False)
    kept: tuple[tuple[Model, Decision], ...] = field(default=(), compare=False, repr=False)

    @property
    def word(self) -> str:
        """`proved`, `refuted` or `unknown`; `error` where the file was not judged."""
        if self.failure is not None or self.problems:
            return ERROR
        return self.verdict.verdict if self.verdict is not None else "unknown"

    @property
    def only_accepted(self) -> bool:
        """Whether it is refuted, and somebody has accepted everything that is broken in it."""
        if self.verdict is None or self.word != "refuted":
            return False
        refuted = [each for each in self.verdict.transports if each.outcome is Outcome.REFUTED]
        found = [violation for each in refuted for violation in each.violations]
        shown = bool(refuted) and all(each.violations for each in refuted)
        return shown and all(each.accepted is not None for each in found)

    def quote(self, place: Place) -> Quote | None:
        """Return what stands at `place`, None where it stands in no file."""
        return self.quotes.get(place.row)


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that one run found, in the order in which it was asked for.

    `baseline` says what became of the findings that were accepted before, where one was given;
    `exit_code` how the command ends, where that is known. With `statistics`, reports that have
    room for them tell counts, too.
    """

    version: str
    files: tuple[FileReport, ...]
    baseline: Compared | None = None
    exit_code: int | None = None
    statistics: bool = False

    @property
    def word(self) -> str:
        """The worst word of all files; `unknown` where there is none, never a success."""
        words = {report.word for report in self.files}
        return next((word for word in _ORDER if word in words), "unknown")

    def count(self, word: str) -> int:
        """Return how many files this word is said of."""
        return sum(report.word == word for report in self.files)


def quoted(
    verdict: FileVerdict, places: Places, text: str, file: str | None = None
) -> Mapping[int, Quote]:
    """Return what stands in `text` at each place that `verdict` names.

    `file` is whose text it is, where that is not the file that was judged.
    """
    named = [place for each in verdict.transports for v in each.violations for place in v.at]
    named += [told.at for each in verdict.transports for told in each.explanations]
    rows = sorted({place.row for place in named} - {-1})
    lines = text.split("\n") if rows else []
    quotes: dict[int, Quote] = {}
    for row in rows:
        line, column = places.place(row)
        if line > 0:
            shown = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
            quotes[row] = Quote(line, column, shown, file)
    return MappingProxyType(quotes)
