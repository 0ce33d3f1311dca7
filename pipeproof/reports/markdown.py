"""The result as Markdown, for the summary of a job on GitHub: verdicts, and what is wrong drawn.

What comes from a file stands in code only: spans, fenced blocks, and labels of a flowchart
(`_mermaid`). There nothing is Markdown, HTML, a link, a mention or an image. GitHub takes at most
1 MiB of a step. Source: GitHub Flavored Markdown Spec, "Code spans", "Fenced code blocks",
"Tables"; GitHub, Workflow commands for GitHub Actions, "Adding a job summary".
"""

import re
from collections.abc import Iterable, Iterator

from pipeproof.errors import Problem
from pipeproof.reports._accepted import baseline_lines, counts
from pipeproof.reports._cause import cause
from pipeproof.reports._clean import clean
from pipeproof.reports._drawn import lines_of, showings, told
from pipeproof.reports._mermaid import mermaid
from pipeproof.reports._places import by_places
from pipeproof.reports.text import file_lines, first_told
from pipeproof.verdict.result import FileReport, Result

__all__ = ["DRAWS", "NAME", "render"]

NAME = "markdown"
DRAWS = True

_MOST = 1_000_000  # bytes
_ROWS = 200
_DRAWN = 10
_LINES = 80
_WIDTH = 400
_CELL = 120
_PROBLEMS = 10
_TICKS = re.compile("`+")


def render(result: Result) -> str:
    """Return the report: a table of verdicts, then what was found in each file that is not proved.

    What does not fit into a summary is counted. Equal results, equal bytes.
    """
    head = "\n".join([*_head(result), *_table(result.files)])
    parts, left, size = [head], 0, len(head.encode())
    drawn = 0
    for report in result.files:
        if report.word == "proved":
            continue
        part = "\n".join(["", "", *_section(report, draws=drawn < _DRAWN)])
        drawn += report.word == "refuted"
        size += len(part.encode())
        if size > _MOST:
            left += 1
        else:
            parts.append(part)
    if left:
        parts.append(f"\n\n{left} more did not fit; `pipeproof check` tells them all.")
    return "".join(parts).rstrip("\n") + "\n"


def _head(result: Result) -> Iterator[str]:
    yield f"## pipeproof: {result.word}"
    yield ""
    yield counts(result)
    lines = list(baseline_lines(result))
    if lines:
        yield ""
        yield from _fenced(lines)
    yield ""


def _table(files: tuple[FileReport, ...]) -> Iterator[str]:
    if not files:
        return
    yield "| file | verdict | first found | under |"
    yield "|---|---|---|---|"
    for report in files[:_ROWS]:
        path, word, first, under = _row(report)
        yield f"| {_cell(path)} | {word} | {first} | {_cell(under)} |"
    if len(files) > _ROWS:
        yield f"\n… and {len(files) - _ROWS} more files"


def _row(report: FileReport) -> tuple[str, str, str, str]:
    verdict = report.verdict
    word = f"{report.word}, accepted" if report.only_accepted else report.word
    shown = None if verdict is None else first_told(verdict)
    if shown is not None:
        transport, first = shown
        return report.path, word, f"{first.rule} {first.name}", transport.name
    if verdict is not None and report.word == "unknown":
        found = [(each.rule, name.name) for name in verdict.transports for each in name.unknown]
        return report.path, word, *min(found, default=("", ""))
    under = () if verdict is None else verdict.transports
    return report.path, word, "", ", ".join(each.name for each in under)


def _cell(text: str) -> str:
    if not text:
        return ""
    return _code(text if len(text) <= _CELL else f"{text[: _CELL - 1]}…").replace("|", "\\|")


def _code(text: str) -> str:
    """Return a code span; the fence is longer than any within."""
    shown = clean(text)
    fence = "`" * _fence(shown, 1)
    padded = f" {shown} " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else shown
    return f"{fence}{padded}{fence}"


def _fenced(lines: Iterable[str], language: str = "text") -> Iterator[str]:
    kept = [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in map(clean, lines)]
    more = len(kept) - _LINES
    shown = [*kept[:_LINES], *([f"… and {more} more lines"] if more > 0 else [])]
    fence = "`" * max((_fence(line, 3) for line in shown), default=3)
    yield f"{fence}{language}"
    yield from shown
    yield fence


def _fence(text: str, least: int) -> int:
    """Return how many backticks end nothing in `text`."""
    return max([least, *(len(run) + 1 for run in _TICKS.findall(text))])


def _section(report: FileReport, *, draws: bool) -> Iterator[str]:
    path = report.path if len(report.path) <= _CELL else f"{report.path[: _CELL - 1]}…"
    yield f"### {_code(path)}"
    yield ""
    yield from _fenced([*file_lines(report), *map(str, _short(report.problems))])
    chart = _chart(report) if draws else None
    if chart is not None:
        yield ""
        yield "```mermaid"
        yield chart.rstrip("\n")
        yield "```"


def _short(problems: tuple[Problem, ...]) -> Iterator[str]:
    yield from map(str, problems[:_PROBLEMS])
    if len(problems) > _PROBLEMS:
        yield f"… and {len(problems) - _PROBLEMS} more"


def _chart(report: FileReport) -> str | None:
    """Return what makes a schedule illegal as a flowchart, None where nothing can be drawn."""
    first = None if report.verdict is None else first_told(report.verdict)
    if first is None:
        return None
    transport, violation = first
    document = report.document
    lines = {} if document is None else lines_of(document, violation)
    shown = showings(transport.name, report.kept).get(told(violation))
    drawn = by_places(violation, (), lines) if shown is None else cause(*shown, (), lines)
    return mermaid(drawn) if drawn.boxes else None
