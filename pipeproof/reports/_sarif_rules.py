"""The rules of a run, as SARIF describes them."""

import re
from collections.abc import Iterable
from inspect import cleandoc

from pipeproof.semantics.logic import Rule
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.result import Json, Result

__all__ = [
    "BASELINE",
    "BROKEN",
    "LEFT_OUT",
    "MALFORMED",
    "UNSUPPORTED",
    "described",
    "of_run",
]

MALFORMED, UNSUPPORTED, BROKEN = "malformed-file", "not-supported", "not-judged"
BASELINE, LEFT_OUT = "baseline", "left-out"
_OTHERS = {
    BASELINE: "What a baseline of accepted findings says of the run.",
    LEFT_OUT: "There was no room for all results.",
    MALFORMED: "The file is no schedule: it was not judged.",
    UNSUPPORTED: "The file asks for what is not modelled: nothing is known of it.",
    BROKEN: "Judging the file failed: nothing is known of it, and it is no fault of the file.",
}
_FAMILIES = {
    "1": "identity",
    "2": "messages",
    "3": "progress",
    "4": "order",
    "5": "storage",
    "6": "weight-versions",
    "7": "gradients",
    "8": "recomputation-and-restart",
    "9": "time",
}
_LABEL = re.compile(r"^(Why it breaks training|Source):", re.MULTILINE)
_MOST = 1_000  # characters of a description


def of_run(result: Result, occurring: Iterable[str]) -> dict[str, int]:
    """Return the place of each rule that was selected for a file, or occurs, in their list."""
    codes = set(occurring)
    for report in result.files:
        for transport in report.verdict.transports if report.verdict is not None else ():
            codes |= transport.instances.keys()
    return {code: place for place, code in enumerate(sorted(codes))}


def described(codes: Iterable[str]) -> list[Json]:
    """Return what is said of each of these rules."""
    known = {rule.code: rule for rule in all_rules()}
    return [_rule(known[code]) if code in known else _other(code) for code in codes]


def _rule(rule: Rule) -> Json:
    text = cleandoc(rule.doc)
    head, _, more = _LABEL.split(text, maxsplit=1)[0].partition("\n")
    level = "warning" if rule.warns else "error"
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": _short(f"{rule.name}: {head}")},
        "fullDescription": {"text": _short(" ".join(f"{head} {more}".split()))},
        "help": {"text": text, "markdown": _LABEL.sub(r"**\1:**", text)},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["pipeline-parallel", _FAMILIES.get(rule.code[2:3], "other")],
            "precision": "very-high",
            "problem.severity": level,
        },
    }


def _other(code: str) -> Json:
    said = _OTHERS.get(code, code)
    return {
        "id": code,
        "shortDescription": {"text": said},
        "fullDescription": {"text": said},
        "help": {"text": said},
    }


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
