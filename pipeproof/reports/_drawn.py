"""What shows a violation: the model and the finding it was told of, and its slice."""

from collections.abc import Iterator, Mapping, Sequence

from pipeproof.ir.source import Document
from pipeproof.reports._advice import advice, why
from pipeproof.reports._cause import cause
from pipeproof.reports._places import by_places
from pipeproof.reports._slice import Slice
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.telling import place
from pipeproof.verdict.verdict import FileVerdict, Place, Violation

__all__ = ["Kept", "Shown", "Told", "drawn", "lines_of", "showings", "told"]

Kept = Sequence[tuple[Model, Decision]]
Shown = tuple[Model, Broken]
Told = tuple[str, frozenset[Place]]


def drawn(
    document: Document, verdict: FileVerdict, kept: Kept, rule: str | None = None
) -> Slice | None:
    """Return what is drawn of a schedule: its first violation, or the first of the rule named.

    What nobody has accepted comes before what somebody has.

    None where there is none, or where it is about no operation.
    """
    for name, violation in _violations(verdict, rule):
        head = f"{document.name}: {violation.rule} {violation.name} under {name}"
        after = () if violation.reached else ("not reached: a deadlock comes before it",)
        change = f"to change: {advice(violation.rule)}" if advice(violation.rule) else ""
        bad = f"breaks training: {why(violation.rule)}" if why(violation.rule) else ""
        title = tuple(filter(None, (head, violation.message, *after, bad, change)))
        lines = lines_of(document, violation)
        shown = showings(name, kept).get(told(violation))
        seen = by_places(violation, title, lines) if shown is None else cause(*shown, title, lines)
        if seen.boxes:
            return seen
    return None


def _violations(verdict: FileVerdict, rule: str | None) -> Iterator[tuple[str, Violation]]:
    found = [(each.name, one) for each in verdict.transports for one in each.violations]
    if rule is not None:
        found = [pair for pair in found if pair[1].rule == rule]
    yield from sorted(found, key=lambda pair: (pair[1].accepted is not None, not pair[1].first))


def showings(name: str, kept: Kept) -> Mapping[Told, Shown]:
    """Return what shows each violation under a transport, by its rule and its places.

    Of several outcomes of choices in which it stands the first one is there. What a fault of the
    file alone shows is not.
    """
    found: dict[Told, Shown] = {}
    for model, decision in kept:
        if model.frame.transport.name == name:
            for broken in decision.broken:
                at = frozenset(place(model.frame, spot) for spot in broken.finding.spots)
                found.setdefault((broken.rule.code, at), (model, broken))
    return found


def told(violation: Violation) -> Told:
    """Return by what a violation is looked up."""
    return violation.rule, frozenset(violation.at)


def lines_of(document: Document, violation: Violation) -> dict[tuple[int, int], str]:
    """Return where the places of a violation stand in their file, by rank and position."""
    found = {}
    for each in violation.at:
        line = document.places.place(each.row)[0] if each.row >= 0 else 0
        if line > 0:
            found[each.rank, each.position] = f", line {line}"
    return found
