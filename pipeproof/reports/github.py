"""Commands by which GitHub shows what was found beside the lines of a pull request.

Of errors and of warnings GitHub shows ten a step and drops the rest; the tenth of ours says how
many more there are. Source: GitHub, Workflow commands for GitHub Actions, and actions/toolkit,
docs/problem-matchers.md.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeproof.reports._accepted import accepted_line, baseline_lines, counts
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import TransportVerdict, Violation

__all__ = ["NAME", "render"]

NAME = "github"
_MOST = 10
_LONGEST = 2_000
_CASE = re.compile(r"#\d+$")


class _Said(NamedTuple):
    """One annotation; `place` holds file, line and column, as far as they are known."""

    level: str
    title: str
    message: str
    place: tuple[tuple[str, str], ...] = ()


def render(result: Result) -> str:
    """Return a command a line, errors first, and one that sums up.

    What is broken under several transports is told once, and a warning that differs only by the
    transport that it names, too. What is unknown is a warning, and so is what warns. What
    a baseline accepts, and what is gone of it, is a notice.
    """
    said = [each for report in result.files for each in _file(report)]
    said += [_Said("notice", "baseline", line) for line in baseline_lines(result)]
    lines: list[str] = []
    for level, most in (("error", _MOST), ("warning", _MOST), ("notice", _MOST - 1)):
        of = [each for each in said if each.level == level]
        kept = of if len(of) <= most else of[: most - 1]
        lines += [_command(each) for each in kept]
        if len(kept) < len(of):
            more = f"{len(of) - len(kept)} more; `pipeproof check` tells them all"
            lines.append(_command(_Said(level, "pipeproof", more)))
    lines.append(_command(_Said("notice", "pipeproof", counts(result))))
    return "\n".join([*lines, ""])


def _file(report: FileReport) -> Iterator[_Said]:
    if report.failure is not None:
        yield _Said("error", "pipeproof", report.failure.message, _whole(report))
    for problem in report.problems:
        place = (
            ("file", _file_of(problem.file)),
            ("line", str(problem.line)),
            ("col", str(problem.column)),
        )
        yield _Said("error", "pipeproof", f"{problem.found}; {problem.expected}", place)
    if report.unsupported:
        yield _Said("warning", "unknown", report.unsupported, _whole(report))
    if report.verdict is not None:
        yield from _verdict(report, report.verdict.transports)


def _verdict(report: FileReport, transports: tuple[TransportVerdict, ...]) -> Iterator[_Said]:
    under: dict[_Said, list[tuple[str, _Said]]] = {}
    for transport in transports:
        for each in _told(report, transport):
            alike = each
            if each.level == "warning":
                alike = each._replace(message=each.message.replace(transport.name, "…"))
            under.setdefault(alike, []).append((transport.name, each))
    for told in under.values():
        names = ", ".join(name for name, _ in told)
        yield told[0][1]._replace(message=f"{told[0][1].message} (under {names})")


def _told(report: FileReport, transport: TransportVerdict) -> Iterator[_Said]:
    for violation in transport.violations:
        title = f"{violation.rule} {violation.name}"
        level, said = "error", violation.message
        if violation.accepted is not None:
            level = "notice"
            said = f"{accepted_line(violation.accepted)}: {said}"
        yield _Said(level, title, said, _place(report, violation))
    for warned in transport.warnings:
        yield _Said("warning", warned.rule, warned.message, _whole(report))
    for open_ in transport.unknown:
        place = _whole(report)
        yield _Said("warning", f"{open_.rule} unknown", open_.why, place)


def _place(report: FileReport, violation: Violation) -> tuple[tuple[str, str], ...]:
    for place in violation.at:
        quote = report.quote(place)
        if quote is not None:
            file = quote.file if quote.file is not None else _file_of(report.path)
            return ("file", file), ("line", str(quote.line)), ("col", str(quote.column))
    return _whole(report)


def _whole(report: FileReport) -> tuple[tuple[str, str], ...]:
    return (("file", _file_of(report.path)),)


def _file_of(path: str) -> str:
    """Return the file that a path names, which may be a case in one."""
    return _CASE.sub("", path)


def _command(said: _Said) -> str:
    properties = (*said.place, ("title", said.title))
    head = ",".join(f"{key}={_property(value)}" for key, value in properties)
    return f"::{said.level} {head}::{_data(said.message[:_LONGEST])}"


def _data(text: str) -> str:
    """Return a message as a command takes it: one line, nothing that ends or begins one."""
    kept = "".join(c if c.isprintable() or c in "\r\n" else "\ufffd" for c in text)
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text[:_LONGEST]).replace(":", "%3A").replace(",", "%2C")
