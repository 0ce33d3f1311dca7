"""Counts of a result: what there was to judge, what engines took for it, what each rule found."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeproof.ir.codes import CODES
from pipeproof.reports._clean import clean
from pipeproof.verdict.result import ERROR, FileReport, Json, Result
from pipeproof.verdict.verdict import TransportVerdict

__all__ = ["statistics_lines", "statistics_object"]

_WORDS = ("proved", "refuted", "unknown", ERROR)
_SPENT = ("states", "steps")


class _Rule(NamedTuple):
    """What became of a rule: findings, in how many files, and what it applied to."""

    findings: int
    files: int
    instances: int


def statistics_object(result: Result) -> Mapping[str, Json]:
    """Return the counts for programs; nothing of it depends on the clock."""
    return {
        "verdicts": {word: result.count(word) for word in _WORDS},
        "files": [_file(report) for report in result.files if report.verdict is not None],
        "rules": [
            {"rule": code, "name": CODES[code], **rule._asdict()}
            for code, rule in _rules(result.files)
        ],
    }


def _file(report: FileReport) -> Json:
    verdict = report.verdict
    operations = 0 if verdict is None else verdict.operations
    transports = () if verdict is None else verdict.transports
    told = [_transport(each) for each in transports]
    return {"path": report.path, "operations": operations, "transports": told}


def _transport(verdict: TransportVerdict) -> Json:
    counts = verdict.counts
    return {
        "name": verdict.name,
        "engines": verdict.engine.split(", "),
        "events": verdict.events,
        "waits": counts.get("waits", 0),
        "transfers": counts.get("transfers", 0),
        "outcomes": verdict.outcomes,
        **{name: counts[name] for name in _SPENT if name in counts},
    }


def _rules(files: Sequence[FileReport]) -> list[tuple[str, _Rule]]:
    """Return what became of each rule that applied to something, most findings first."""
    findings: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    instances: Counter[str] = Counter()
    for report in files:
        transports = () if report.verdict is None else report.verdict.transports
        for transport in transports:
            instances.update({code: int(n) for code, n in transport.instances.items()})
        told = {
            (each.rule, each.at, each.message)
            for transport in transports
            for each in transport.violations
        }
        codes = Counter(rule for rule, _, _ in told)
        findings.update(codes)
        broken.update(codes.keys())
    found = {
        code: _Rule(findings[code], broken[code], instances[code])
        for code in CODES
        if findings[code] or instances[code]
    }
    return sorted(found.items(), key=lambda pair: (-pair[1].findings, pair[0]))


def statistics_lines(result: Result) -> Iterator[str]:
    """Yield the counts for people: a line a transport, then a line a rule."""
    yield "statistics:"
    for report in result.files:
        verdict = report.verdict
        if verdict is None:
            continue
        yield clean(f"  {report.path}: {verdict.operations} operations")
        for each in verdict.transports:
            yield clean(f"    {each.name}: {', '.join(_said(each))}")
    rules = _rules(result.files)
    if rules:
        yield "  findings  files  instances  rule"
    for code, rule in rules:
        counts = f"{rule.findings:>8}  {rule.files:>5}  {rule.instances:>9}"
        yield f"  {counts}  {code} {CODES[code]}"


def _said(verdict: TransportVerdict) -> Iterator[str]:
    counts = verdict.counts
    yield f"by {verdict.engine}"
    yield f"{verdict.events} events"
    yield f"{counts.get('waits', 0)} waits"
    yield f"{counts.get('transfers', 0)} transfers"
    if verdict.outcomes > 1:
        yield f"{verdict.outcomes} outcomes"
    if "states" in counts:
        yield f"{counts['states']} states explored"
    if "steps" in counts:
        yield f"{counts['steps']} steps of the solver"
