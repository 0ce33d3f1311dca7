"""What a mutant is, by the graph engine and by a witness that decides in another way."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeproof.campaign.judged import Judged, of
from pipeproof.campaign.task import Json
from pipeproof.engines import graph
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.source import Document
from pipeproof.proofs.asked import Asked, Effort
from pipeproof.proofs.judging import Judging

__all__ = ["Witnessed", "witnessed"]

_WITNESSES = ("explore", "smt")


class Witnessed(NamedTuple):
    """What became of a mutant.

    `fate` is killed, equivalent (both say that it is legal), unknown, or differs. `witness` is the
    engine that was asked beside the graph engine; `said` is what differs.
    """

    fate: str
    witness: str
    rule: str
    rules: tuple[str, ...]
    transport: str
    said: str = ""

    @property
    def told(self) -> dict[str, Json]:
        """The data of an answer."""
        return {**self._asdict(), "rules": list(self.rules)}


def witnessed(document: Document, transports: Sequence[str], effort: Effort) -> Witnessed:
    """Judge a schedule by the graph engine, and by the first witness that decides it."""
    ours = _judged(document, transports, effort, graph.NAME)
    first = next((each for each in ours.under if each.first), None)
    rule, transport = (first.first, first.transport) if first else ("", "")
    rules = tuple(sorted({each for under in ours.under for each in under.rules}))
    for witness in _WITNESSES:
        theirs = _judged(document, transports, effort, witness)
        said = _differs(ours, theirs)
        if said:
            return Witnessed("differs", witness, rule, rules, transport, said)
        if theirs.verdict != "unknown":
            fate = {"refuted": "killed", "proved": "equivalent"}.get(ours.verdict, "unknown")
            return Witnessed(fate, witness, rule, rules, transport)
    return Witnessed("unknown", "none", rule, rules, transport)


def _judged(document: Document, transports: Sequence[str], effort: Effort, engine: str) -> Judged:
    asked = Asked(transports=tuple(transports), engine=engine, effort=effort)
    try:
        return of(Judging(document, asked).verdict())
    except UnsupportedFeatureError:
        return Judged("unknown", ())


def _differs(ours: Judged, theirs: Judged) -> str:
    """Return what two engines say otherwise under a transport that both decide."""
    other: Mapping[str, tuple[str, tuple[str, ...]]] = {
        each.transport: (each.verdict, each.rules) for each in theirs.under
    }
    for each in ours.under:
        verdict, rules = other.get(each.transport, ("unknown", ()))
        if "unknown" in (verdict, each.verdict):
            continue
        if verdict != each.verdict:
            return f"{each.transport}: {each.verdict}, and by the witness {verdict}"
        if each.verdict == "refuted" and not {*each.rules} & {*rules}:
            return f"{each.transport}: {', '.join(each.rules)}, by the witness {', '.join(rules)}"
    return ""
