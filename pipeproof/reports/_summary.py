"""What a result says as plain HTML, for readers of a page without its script."""

from collections.abc import Iterator
from html import escape

from pipeproof.reports._accepted import accepted_line
from pipeproof.reports._facts import place_data
from pipeproof.reports._worded import worded
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import FileVerdict, Violation

__all__ = ["errors", "summary"]

_VIOLATIONS = 20
_PLACES = 6
_FILES = 200


def summary(result: Result) -> str:
    """Return headings, paragraphs and lists; all that comes from a file is escaped."""
    lines = [f"<h1>pipeproof: {result.word}</h1>"]
    for report in result.files[:_FILES]:
        lines += _file(report)
    if len(result.files) > _FILES:
        lines.append(_text("p", f"{len(result.files) - _FILES} more files are told above"))
    return "\n".join(lines)


def errors(report: FileReport) -> list[str]:
    """Return why a file has no verdict."""
    said = [str(problem) for problem in report.problems]
    if report.failure is not None:
        said.append(report.failure.message)
    if report.verdict is None and not said:
        said.append(report.unsupported or "not judged")
    return [worded(each) for each in said]


def _file(report: FileReport) -> Iterator[str]:
    yield _text("h2", report.path)
    yield _text("p", report.word)
    yield from (_text("p", each) for each in errors(report))
    if report.verdict is not None:
        yield from _verdict(report, report.verdict)


def _verdict(report: FileReport, verdict: FileVerdict) -> Iterator[str]:
    under: dict[tuple[object, ...], tuple[Violation, list[str]]] = {}
    for transport in verdict.transports:
        for each in transport.violations:
            key = (each.rule, each.message, each.at, each.accepted)
            under.setdefault(key, (each, []))[1].append(transport.name)
    for each, names in [*under.values()][:_VIOLATIONS]:
        yield _text("h3", f"{each.rule} {each.name} under {', '.join(names)}")
        yield _text("p", each.message)
        if each.accepted is not None:
            yield _text("p", accepted_line(each.accepted))
        yield from _places(report, each)
    if len(under) > _VIOLATIONS:
        yield _text("p", f"and {len(under) - _VIOLATIONS} more violations")
    for transport in verdict.transports:
        for open_ in transport.unknown:
            yield _text("p", f"{open_.rule} not decided under {transport.name}: {open_.why}")
        for warned in transport.warnings:
            yield _text("p", f"warning {warned.rule} under {transport.name}: {warned.message}")


def _places(report: FileReport, violation: Violation) -> Iterator[str]:
    if not violation.at:
        return
    yield "<ul>"
    for at in violation.at[:_PLACES]:
        said = place_data(report, at, -1)
        where = f"{said['file']}:{said['line']}:{said['column']}, " if said["line"] else ""
        yield _text("li", f"{where}rank {at.rank}, position {at.position}: {said['text']}")
    if len(violation.at) > _PLACES:
        yield _text("li", f"and {len(violation.at) - _PLACES} more places")
    yield "</ul>"


def _text(element: str, text: str) -> str:
    return f"<{element}>{escape(worded(text))}</{element}>"
