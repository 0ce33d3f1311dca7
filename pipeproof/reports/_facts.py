"""What a page says of a file, a transport and a violation in words."""

import re

from pipeproof.reports._advice import advice, why
from pipeproof.reports._pack import Json
from pipeproof.reports._worded import worded
from pipeproof.verdict.result import FileReport
from pipeproof.verdict.verdict import FileVerdict, Place, TransportVerdict, Violation

__all__ = ["facts", "place_data", "transport_data", "violation_data"]

_CASE = re.compile(r"#\d+$")


def facts(verdict: FileVerdict) -> list[Json]:
    """Return pairs of words: what was judged."""
    steps = dict.fromkeys(str(each.steps) for each in verdict.transports)
    outcomes = max((each.outcomes for each in verdict.transports), default=1)
    said = [
        ("stages", verdict.stages),
        ("ranks", verdict.ranks),
        ("microbatches", verdict.microbatches),
        ("operations", verdict.operations),
        ("steps", ", ".join(steps)),
        ("lowering", verdict.lowering),
        ("profile", verdict.profile),
        *([("outcomes of choices", outcomes)] if outcomes > 1 else []),
        *([("a fragment", "yes")] if verdict.fragment else []),
        *([("forward only", "yes")] if verdict.forward_only else []),
        *([("not described", ", ".join(verdict.undescribed))] if verdict.undescribed else []),
    ]
    return [[name, worded(str(value))] for name, value in said]


def transport_data(verdict: TransportVerdict) -> dict[str, Json]:
    """Return what holds under one transport."""
    return {
        "transport": worded(verdict.name),
        "verdict": verdict.outcome.value,
        "engine": verdict.engine,
        "assumes": list(verdict.assumes),
        "unknown": [{"rule": each.rule, "why": worded(each.why)} for each in verdict.unknown],
        "warnings": [
            {"rule": each.rule, "message": worded(each.message)} for each in verdict.warnings
        ],
    }


def violation_data(violation: Violation) -> dict[str, Json]:
    """Return what is broken and why that is bad, without its places."""
    return {
        "rule": violation.rule,
        "name": violation.name,
        "message": worded(violation.message),
        "first": violation.first,
        "reached": violation.reached,
        "help": f"docs/rules/{violation.rule}-{violation.name}.md",
        "why": why(violation.rule),
        "change": advice(violation.rule),
        "confirmation": None if violation.seen is None else _seen(violation),
    }


def _seen(violation: Violation) -> Json:
    assert violation.seen is not None  # noqa: S101  its caller has looked
    return {key: worded(str(value)) for key, value in violation.seen._asdict().items()}


def place_data(report: FileReport, place: Place, op: int) -> dict[str, Json]:
    """Return a place and where it stands, line 0 where it stands nowhere."""
    quote = report.quote(place)
    file = quote.file if quote is not None and quote.file is not None else report.path
    return {
        "op": op,
        "text": worded(place.operation or "end of program"),
        "rank": place.rank,
        "position": place.position,
        "line": 0 if quote is None else quote.line,
        "column": 0 if quote is None else quote.column,
        "file": worded(_CASE.sub("", file)),
        **({} if place.step is None else {"step": place.step}),
        **({"lowered": True} if place.lowered else {}),
    }
