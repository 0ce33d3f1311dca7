"""The result as SARIF 2.1.0, for code scanning and for editors.

A broken rule is an error, what is not known is *open*. Limits are those of GitHub. Source: OASIS,
Static Analysis Results Interchange Format 2.1.0; GitHub, SARIF support for code scanning.
"""

import json
import zlib
from collections.abc import Iterator, Mapping

from pipeproof.reports._accepted import baseline_lines
from pipeproof.reports._sarif_flow import Flows
from pipeproof.reports._sarif_places import BASES, located, said
from pipeproof.reports._sarif_results import Found, results
from pipeproof.reports._sarif_rules import (
    BASELINE,
    BROKEN,
    LEFT_OUT,
    MALFORMED,
    UNSUPPORTED,
    described,
    of_run,
)
from pipeproof.verdict.result import ERROR, FileReport, Json, Result

__all__ = ["NAME", "PLACES", "SCHEMA", "render"]

NAME = "sarif"
PLACES = True
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_BYTES = 9_500_000
"""How large the file may be once compressed; GitHub takes 10 MB."""
_ROOMS = ((100_000, 25_000), (20_000, 25_000), (0, 25_000), (0, 5_000), (0, 1_000))
"""How many events of executions, and how many results, are told; what fits first is taken."""
_WELL = (0, 1, 3, 5)
"""How a command ends that judged what it was asked to."""
_LEVELS = ("error", "warning", "none")


def render(result: Result) -> str:
    """Return one run in ASCII, a result a line; equal results, equal bytes.

    What is broken under several transports is told once. Where it would become too large for
    GitHub, executions are left out first, then the last results; what is left out is said.
    """
    text = ""
    for events, most in _ROOMS:
        text = _text(result, events, most)
        if len(text) <= _BYTES or len(zlib.compress(text.encode(), 1)) <= _BYTES:
            break
    return text


def _text(result: Result, events: int, most: int) -> str:
    flows = Flows(events)
    found = [each for report in result.files for each in results(report, flows)]
    kept = sorted(found, key=_weight)[:most] if len(found) > most else found
    codes = of_run(result, (each.rule for each in kept))
    run: dict[str, Json] = {
        "tool": {"driver": _driver(result, codes)},
        "invocations": [_invocation(result, len(found) - len(kept))],
        "originalUriBaseIds": BASES,
        "columnKind": "unicodeCodePoints",
        "properties": {
            "verdict": result.word,
            "files": {word: result.count(word) for word in ("proved", "refuted", "unknown", ERROR)},
        },
    }
    head = json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    compared = result.baseline is not None
    lines = ",\n".join(json.dumps(each.object(codes, compared=compared)) for each in kept)
    text = f'{head[:-3]}, "results": [\n{lines}\n]}}]}}\n'
    return text.replace("##[", "\\u0023#[")  # no runner takes it for a command, printed or not


def _weight(found: Found) -> int:
    return _LEVELS.index(found.level)


def _driver(result: Result, codes: Mapping[str, int]) -> Json:
    return {
        "name": "pipeproof",
        "version": result.version,
        "rules": described(codes),
        "notifications": described((BASELINE, BROKEN, LEFT_OUT, MALFORMED, UNSUPPORTED)),
    }


def _invocation(result: Result, left_out: int) -> Json:
    notes = [note for report in result.files for note in _notes(report)]
    if left_out:
        more = f"{left_out} results more are not told here; `pipeproof check` tells them all."
        notes.append(_note(LEFT_OUT, "warning", more))
    notes += [_note(BASELINE, "note", line) for line in baseline_lines(result)]
    ended = result.exit_code is None or result.exit_code in _WELL
    return {
        "executionSuccessful": ended and all(each.word != ERROR for each in result.files),
        **({} if result.exit_code is None else {"exitCode": int(result.exit_code)}),
        "toolExecutionNotifications": notes,
    }


def _notes(report: FileReport) -> Iterator[Json]:
    """Yield what the run as a whole has to say of a file that it did not judge."""
    where = located(report).whole()
    if report.failure is not None:
        yield _note(BROKEN, "error", f"Not judged: {report.failure.message}", where)
    elif report.problems:
        n = len(report.problems)
        yield _note(MALFORMED, "error", f"Not judged: mistakes in the file: {n}", where)
    elif report.verdict is None:
        yield _note(UNSUPPORTED, "warning", f"Not judged: {report.unsupported}", where)


def _note(name: str, level: str, message: str, where: Json = None) -> Json:
    return {
        "descriptor": {"id": name},
        "level": level,
        "message": {"text": said(message, 2_000)},
        **({} if where is None else {"locations": [where]}),
    }
