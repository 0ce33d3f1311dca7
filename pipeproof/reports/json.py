"""The result as one JSON object, for programs."""

import json
from collections.abc import Mapping, Sequence

from pipeproof.errors import Problem
from pipeproof.ir.sizes import UNIT
from pipeproof.reports._statistics import statistics_object
from pipeproof.verdict.result import Compared, FileReport, Result
from pipeproof.verdict.verdict import (
    Explained,
    FileVerdict,
    Hop,
    Live,
    Place,
    TraceStep,
    TransportVerdict,
    Violation,
)

__all__ = ["NAME", "SCHEMA", "live_object", "render"]

NAME = "json"
SCHEMA = "pipeproof.result/1"

_Json = str | int | float | bool | None | Sequence["_Json"] | Mapping[str, "_Json"]


def render(result: Result) -> str:
    """Return the object of the contract in ASCII, one line a file; equal results, equal bytes.

    An operation that stands in no file, or has no stage, microbatch or version, says `null`.
    """
    head: dict[str, _Json] = {
        "schema": SCHEMA,
        "tool": {"name": "pipeproof", "version": result.version},
        "verdict": result.word,
        **({} if result.baseline is None else {"baseline": _baseline(result.baseline)}),
    }
    files = ",\n".join(json.dumps(_file(report)) for report in result.files)
    told = f',\n"statistics": {json.dumps(statistics_object(result))}' if result.statistics else ""
    return f'{json.dumps(head)[:-1]}, "files": [\n{files}]{told}}}\n'


def _baseline(compared: Compared) -> _Json:
    gone: list[_Json] = [
        {
            "fingerprint": entry.fingerprint,
            "rule": entry.rule,
            "path": entry.path,
            "transports": list(entry.transports),
            "message": entry.message,
            "reason": entry.reason,
            "date": entry.date,
        }
        for entry in compared.gone
    ]
    return {
        "path": compared.file,
        "accepted": compared.accepted,
        "gone": gone,
        "elsewhere": compared.elsewhere,
    }


def _file(report: FileReport) -> _Json:
    if report.failure is not None:
        return _error(report, [_plain_error(report.failure.message)])
    if report.problems:
        return _error(report, [_problem(problem) for problem in report.problems])
    if report.verdict is None:
        return {
            "path": report.path,
            "verdict": report.word,
            "transports": [],
            "unsupported": report.unsupported,
        }
    return _judged(report, report.verdict)


def _error(report: FileReport, errors: Sequence[_Json]) -> _Json:
    return {"path": report.path, "verdict": report.word, "errors": errors}


def _plain_error(message: str) -> _Json:
    return {"line": None, "column": None, "found": None, "expected": None, "message": message}


def _problem(problem: Problem) -> _Json:
    return {
        "line": problem.line,
        "column": problem.column,
        "found": problem.found,
        "expected": problem.expected,
        "message": str(problem),
    }


def _judged(report: FileReport, verdict: FileVerdict) -> _Json:
    return {
        "path": report.path,
        "verdict": verdict.verdict,
        "stages": verdict.stages,
        "ranks": verdict.ranks,
        "microbatches": verdict.microbatches,
        "operations": verdict.operations,
        "lowering": verdict.lowering,
        "profile": verdict.profile,
        "fragment": verdict.fragment,
        "forward_only": verdict.forward_only,
        "transports": [_transport(report, each) for each in verdict.transports],
        "undescribed": list(verdict.undescribed),
        "notes": list(verdict.notes),
        **({} if report.provenance is None else {"provenance": report.provenance}),
    }


def _transport(report: FileReport, verdict: TransportVerdict) -> _Json:
    return {
        "name": verdict.name,
        "verdict": verdict.outcome.value,
        "engine": verdict.engine,
        "events": verdict.events,
        "steps": verdict.steps,
        "assumes": list(verdict.assumes),
        "zero_instances": sorted(code for code, n in verdict.instances.items() if n == 0),
        "unknown": [{"rule": each.rule, "why": each.why} for each in verdict.unknown],
        "warnings": [{"rule": each.rule, "message": each.message} for each in verdict.warnings],
        "violations": [_violation(report, each) for each in verdict.violations],
        "instances": _counts(verdict.instances),
        **({"outcomes": verdict.outcomes} if verdict.outcomes > 1 else {}),
        **({"live": [live_object(each) for each in verdict.live]} if verdict.live else {}),
        **_explanations(report, verdict),
    }


def _explanations(report: FileReport, verdict: TransportVerdict) -> Mapping[str, _Json]:
    told = [_explained(report, each) for each in verdict.explanations]
    return {"explanations": told} if told else {}


def _explained(report: FileReport, told: Explained) -> _Json:
    return {
        "rules": list(told.rules),
        "at": _place(report, told.at),
        "needs": told.needs or None,
        "known": told.known,
        "hops": [_hop(each) for each in told.hops],
        "credits": [_step(each) for each in told.sends],
        **({"where": told.where} if told.where else {}),
    }


def _hop(hop: Hop) -> _Json:
    return {
        "before": _step(hop.before),
        "after": _step(hop.after),
        "crosses": hop.crosses,
        "needed": hop.needed,
    }


def live_object(live: Live) -> dict[str, _Json]:
    """Return the most of one kind on a rank; `bytes` are rounded up, null without sizes."""
    return {
        "rank": live.rank,
        "kind": live.kind,
        "most": live.number,
        "bytes": None if live.size is None else -(-live.size // UNIT),
        "exact": live.exact,
    }


def _counts(instances: Mapping[str, int]) -> _Json:
    return {code: int(instances[code]) for code in sorted(instances)}


def _violation(report: FileReport, violation: Violation) -> _Json:
    return {
        "rule": violation.rule,
        "name": violation.name,
        "first": violation.first,
        "at": [_place(report, place) for place in violation.at],
        "message": violation.message,
        "trace": [_step(step) for step in violation.trace],
        "reached": violation.reached,
        **({} if violation.seen is None else {"confirmation": dict(violation.seen._asdict())}),
        **({} if violation.accepted is None else {"accepted": violation.accepted._asdict()}),
    }


def _place(report: FileReport, place: Place) -> _Json:
    quote = report.quote(place)
    said: dict[str, _Json] = {
        "rank": place.rank,
        "position": place.position,
        "operation": place.operation,
        "stage": place.stage,
        "microbatch": place.microbatch,
        "version": place.version,
        "line": None if quote is None else quote.line,
        "column": None if quote is None else quote.column,
    }
    if quote is not None and quote.file is not None:
        said["file"] = quote.file
    if place.step is not None:
        said["step"] = place.step
    if place.lowered:
        said["lowered"] = True
    return said


def _step(step: TraceStep) -> _Json:
    return {
        "event": step.event,
        "phase": step.phase,
        "rank": step.rank,
        "position": step.position,
    }
