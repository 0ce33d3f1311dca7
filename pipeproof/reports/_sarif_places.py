"""Where things stand, as SARIF says it: files by relative URIs, regions, ranks and operations."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote

import numpy as np

from pipeproof.ir.operations import Operations
from pipeproof.ir.source import Document
from pipeproof.ir.values import NO_VALUE
from pipeproof.reports._clean import clean
from pipeproof.verdict.fingerprint import named_below
from pipeproof.verdict.result import FileReport, Json, Quote
from pipeproof.verdict.verdict import Place, TraceStep

__all__ = ["BASES", "Located", "located", "name_of", "said"]

ROOT, OUTSIDE = "%SRCROOT%", "OUTSIDE"
BASES: dict[str, Json] = {
    ROOT: {"description": {"text": "The folder in which pipeproof was run."}},
    OUTSIDE: {"description": {"text": "A folder that is not below it, and is not told."}},
}
_STDIN = "<stdin>"
_CASE = re.compile(r"(.+)#(?:0|[1-9][0-9]*)", re.DOTALL)
_WORD = re.compile(r"\w*")
_SNIPPET = 500
_LINK = re.compile(r"](?=\()")


def said(text: str, longest: int = 1_000) -> str:
    """Return a text as a message of SARIF: on one line, cut, without links and placeholders."""
    shown = clean(text[: longest + 1])
    shown = f"{shown[:longest]}…" if len(shown) > longest else shown
    return _LINK.sub("] ", shown).replace("{", "{{").replace("}", "}}")


def name_of(path: str) -> str:
    """Return how a file is named: from the folder of the run, without the folders outside of it."""
    return path if path == _STDIN else named_below(path, str(Path.cwd()))


def _artifact(path: str) -> dict[str, Json]:
    if path == _STDIN:
        return {"uri": quote(path), "description": {"text": "Standard input."}}
    file = path if os.path.lexists(path) else _CASE.sub(r"\1", path)
    named = name_of(file)
    inside = named == PurePath(os.path.relpath(file)).as_posix()
    return {"uri": quote(_encoded(named)), "uriBaseId": ROOT if inside else OUTSIDE}


def _encoded(name: str) -> bytes:
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:  # what no file can be called
        return name.encode(errors="replace")


@dataclass(frozen=True, slots=True)
class Located:
    """The places of one report: `artifact` is the file in which its programs stand."""

    artifact: Mapping[str, Json]
    report: FileReport

    @property
    def document(self) -> Document | None:
        """The schedule, where it is known."""
        return self.report.document

    def whole(self) -> dict[str, Json]:
        """Return the file as a whole: an empty region at its begin, for those that want one."""
        return self.spot(1, 1)

    def spot(self, line: int, column: int, length: int = 0, file: str = "") -> dict[str, Json]:
        """Return a location in a file, this one unless another is named."""
        line, column = max(line, 1), max(column, 1)
        region = {
            "startLine": line,
            "startColumn": column,
            "endLine": line,
            "endColumn": column + length,
        }
        artifact = _artifact(file) if file else self.artifact
        return {"physicalLocation": {"artifactLocation": artifact, "region": region}}

    def place(self, place: Place) -> dict[str, Json]:
        """Return where an operation stands, with what stands there."""
        found = self.report.quote(place)
        location = self.whole() if found is None else self._quoted(found, place)
        kind = "end of program" if place.row < 0 else "operation"
        location["logicalLocations"] = _logical(place.rank, place.position, place.operation, kind)
        return location

    def _quoted(self, found: Quote, place: Place) -> dict[str, Json]:
        rest = found.text[found.column - 1 :]
        exact = rest.startswith(place.operation) and bool(place.operation)
        length = len(place.operation) if exact else len(_first_word(rest))
        location = self.spot(found.line, found.column, length, found.file or "")
        physical = location["physicalLocation"]
        if length and isinstance(physical, Mapping):
            snippet = {"text": clean(rest[: min(length, _SNIPPET)])}
            region = {**_mapping(physical["region"]), "snippet": snippet}
            location["physicalLocation"] = {**physical, "region": region, **_context(found, length)}
        return location

    def step(self, step: TraceStep) -> dict[str, Json]:
        """Return where the operation of an event stands, or what it stands beside."""
        line, column, length = self._standing(step)
        location = self.spot(line, column, length) if line else self.whole()
        location["logicalLocations"] = _logical(step.rank, step.position, step.event, "event")
        return location

    def _standing(self, step: TraceStep) -> tuple[int, int, int]:
        """Return line, column and length of its first word; zeros where it stands nowhere."""
        if self.document is None:
            return 0, 0, 0
        ops = self.document.schedule.operations
        row = _row(ops, step)
        if row < 0:
            return 0, 0, 0
        line, column = self.document.places.place(row)
        return line, column, len(_first_word(ops.text(row))) if line else 0


def located(report: FileReport) -> Located:
    """Return the places of a report."""
    path = None if report.document is None else report.document.origin.get("path")
    return Located(_artifact(path if isinstance(path, str) else report.path), report)


def _context(found: Quote, length: int) -> dict[str, Json]:
    """Return the whole line, where it is more than what stands there, and not too long."""
    if not length < len(found.text) <= _SNIPPET:
        return {}
    line = {"text": clean(found.text)}
    return {"contextRegion": {"startLine": found.line, "endLine": found.line, "snippet": line}}


def _mapping(region: Json) -> dict[str, Json]:
    return dict(region) if isinstance(region, Mapping) else {}


def _logical(rank: int, position: int, name: str, kind: str) -> list[Json]:
    return [
        {
            "name": said(name or kind, 200),
            "fullyQualifiedName": f"r{rank}.{position}",
            "kind": kind,
        }
    ]


def _first_word(text: str) -> str:
    """Return the word that a text begins with, or its first character."""
    found = _WORD.match(text)
    return found[0] if found and found[0] else text[:1]


def _row(ops: Operations, step: TraceStep) -> int:
    """Return the row as written that an event is of, -1 for none.

    Positions run on over copies of a program; the end of a program stands behind its last row.
    """
    first, end = np.searchsorted(ops.rank, (step.rank, step.rank + 1)).tolist()
    if first == end:
        return -1
    length = int(ops.position[end - 1]) + 1
    if step.position >= length and step.phase == "done" and step.event == "end of program":
        return int(end - 1)
    at = np.searchsorted(ops.position[first:end], step.position % length + np.arange(2)) + first
    rows = range(*at.tolist())
    moved = step.phase in ("drained", "arrived")
    return next((row for row in rows if moved and _carries(ops, row, step.event)), rows.start)


def _carries(ops: Operations, row: int, value: str) -> bool:
    code = int(ops.value[row])
    return code != NO_VALUE and ops.value_text(code) == value
