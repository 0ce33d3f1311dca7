"""What a report says of findings that a baseline accepts, and of those that are gone."""

from collections.abc import Iterator

from pipeproof.reports._clean import clean
from pipeproof.verdict.result import ERROR, Result
from pipeproof.verdict.verdict import Accepted

__all__ = ["NOT_PROVED", "accepted_line", "baseline_lines", "counts"]

NOT_PROVED = "accepted is not proved: what is refuted stays illegal"
_MOST = 10
_LONGEST = 1_000


def accepted_line(accepted: Accepted) -> str:
    """Return who says why a finding stands, and since when."""
    return clean(f"accepted by the baseline on {accepted.date}: {accepted.reason[:_LONGEST]}")


def baseline_lines(result: Result) -> Iterator[str]:
    """Yield what a baseline says of a result, nothing where none was given."""
    said = result.baseline
    if said is None:
        return
    for entry in said.gone[:_MOST]:
        head = f"gone, and in the baseline still: {entry.rule} in {entry.path[:_LONGEST]}"
        yield clean(f"{head}: {entry.message[:_LONGEST]} (accepted on {entry.date})")
    if len(said.gone) > _MOST:
        yield f"… and {len(said.gone) - _MOST} more are gone"
    if said.elsewhere:
        entries = "1 entry" if said.elsewhere == 1 else f"{said.elsewhere} entries"
        yield f"{entries} of the baseline: in files that were not judged now"
    refuted = [report for report in result.files if report.word == "refuted"]
    if refuted and all(report.only_accepted for report in refuted):
        yield f"nothing new was found; {NOT_PROVED}"
    elif said.accepted:
        yield NOT_PROVED


def counts(result: Result) -> str:
    """Return how many files each word is said of, and how many findings are accepted."""
    words = ("proved", "refuted", "unknown")
    found = [f"{result.count(word)} {word}" for word in words]
    if result.count(ERROR):
        found.append(f"{result.count(ERROR)} unreadable")
    said = result.baseline
    if said is not None and said.accepted:
        one = said.accepted == 1
        found.append("1 finding accepted" if one else f"{said.accepted} findings accepted")
    return ", ".join(found)
