"""What a place is at odds with: the operation that its rule compares it to, and how."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.reports._slice import Means
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.verdict.decision import Broken

__all__ = ["Culprit", "culprits"]

_NAMED = {
    "PP503": Means.UNORDERED,
    "PP601": Means.DIFFERS,
    "PP604": Means.UNORDERED,
    "PP704": Means.UNORDERED,
    "PP706": Means.UNORDERED,
    "PP801": Means.DIFFERS,
    "PP802": Means.DIFFERS,
}
_SAID = "PP801"  # the rule whose reason stands at the arrow
_WORD = re.compile(r"\d*[A-Z][A-Z_]*\d*")
_WHOLE = {Kind.B: (Kind.B, Kind.I, Kind.W), Kind.I: (Kind.B, Kind.I), Kind.W: (Kind.B, Kind.W)}


class Culprit(NamedTuple):
    """A row, the row of a place that it is at odds with, how, and in words."""

    row: int
    place: int
    means: Means
    label: str = ""


def culprits(frame: Frame, broken: Broken) -> list[Culprit]:
    """Return what the places of a violation are at odds with, as far as its rule names it."""
    code, finding = broken.rule.code, broken.finding
    found: list[Culprit] = []
    for spot in finding.spots:
        if spot.row < 0:
            continue
        if code == "PP102":
            found += _before(frame, spot)
        elif code == "PP406":
            found += _sharded(frame, spot)
        elif code in _NAMED:
            found += _named(frame, finding, spot, code)
    return found


def _before(frame: Frame, spot: Spot) -> Iterator[Culprit]:
    """Yield what took place already, the last of it."""
    ops, row = frame.ops, spot.row
    kind = Kind(int(ops.kind[row]))
    alike = ops.is_kind(*_WHOLE.get(kind, (kind,))) & (ops.stage == ops.stage[row])
    alike &= ops.microbatch == ops.microbatch[row]
    rows = np.flatnonzero(alike & (frame.run.copy == frame.run.copy[row]))
    rows = rows[rows != row]
    own = rows[(ops.rank[rows] == ops.rank[row]) & (rows < row)]
    for each in (*own[::-1].tolist(), *rows.tolist())[:1]:
        yield Culprit(each, row, Means.AGAIN)


def _sharded(frame: Frame, spot: Spot) -> Iterator[Culprit]:
    """Yield what sharded the stage of a place, if anything did."""
    ops, row = frame.ops, spot.row
    own = (ops.stage == ops.stage[row]) & (ops.rank == ops.rank[row])
    rows = np.flatnonzero(own & ops.is_kind(Kind.RESHARD, Kind.UNSHARD))
    before = rows[rows < row]
    if len(before) and ops.kind[before[-1]] == Kind.RESHARD:
        yield Culprit(int(before[-1]), row, Means.TAKES)


def _named(frame: Frame, finding: Finding, spot: Spot, code: str) -> Iterator[Culprit]:
    """Yield the operation of the same rank, nearest first, that the words of a finding name."""
    ops, row = frame.ops, spot.row
    said = " ".join(text for name, text in finding.facts.items() if name != "op")
    words = set(_WORD.findall(said))
    own = (ops.rank == ops.rank[row]) & (frame.run.copy == frame.run.copy[row])
    rows = np.flatnonzero(own)
    late = _NAMED[code] is Means.UNORDERED
    rows = rows[rows > row] if late else rows[rows < row][::-1]
    for each in rows.tolist():
        text = frame.text(each)
        head = text.partition(" ")[0]
        if head in words if head[:1].isdigit() else text in said:
            label = finding.facts.get("why", "") if code == _SAID else ""
            yield Culprit(each, row, _NAMED[code], label)
            return
