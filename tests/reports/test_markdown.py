"""What stands in the summary of a job."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.reports import markdown as report
from pipeproof.reports._mermaid import LONGEST, MOST, mermaid
from pipeproof.reports._slice import Arrow, Box, Means, Slice, State
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Accepted, Outcome
from tests.reports.made import (
    DEADLOCK,
    proved,
    refuted,
    transport,
    unreadable,
    verdict,
    whole,
)

ROOT = Path(__file__).parents[2]
CHART = re.compile(r"```mermaid\n(.*?)\n```", re.DOTALL)
LABEL = re.compile(r'"((?:[A-Za-z0-9 ]|#\d+;|<br/>)*)"')
PLAIN = re.compile(
    r"flowchart TB| *(?:n\d+ (?:---|-->|==>|-\.->)(?:\|L\|)? n\d+|n\d+\[L\]|subgraph r\d+\[L\]|end"
    r"|linkStyle [\d,]+ [\w:#,-]+|classDef \w+ [\w:#, -]+|class [\w,]+ \w+)"
)
HOSTILE = (
    "<script>alert(1)</script>",
    "![x](https://example.org/x.png) [y](javascript:alert(1))",
    "`` ` ``` ```` ``",
    "| a | b |\\| c \\\\| d",
    "@somebody #1 https://example.org www.example.org a@b.c",
    "```\n# heading\n~~~\n<img src=x onerror=alert(1)>",
    "::error file=x::y",
    '"]; click n0 "javascript:alert(1)"; %%{init: {"securityLevel": "loose"}}%%',
    "fa:fa-x end subgraph",
    "\x00\x1b[31m\r\n\t\u2028\u202e\ud800",
    "x" * 200_000,
    "`" * 200_000,
    "",
)


def of(text: str) -> Result:
    """A file that is refuted, in which every text is `text`."""
    places = tuple(place._replace(operation=text) for place in DEADLOCK.at)
    steps = tuple(step._replace(event=text) for step in DEADLOCK.trace)
    accepted = Accepted(text, "2026-01-02")
    broken = replace(DEADLOCK, message=text, at=places, trace=steps, accepted=accepted)
    found = verdict(transport(text, Outcome.REFUTED, broken), outcome=Outcome.REFUTED, path=text)
    return Result("0", (FileReport(text, found),))


def outside(text: str) -> str:
    """Markdown without what stands in code: blocks first, then spans."""
    fences = re.compile(r"^(`{3,})[a-z]+\n.*?\n\1$", re.DOTALL | re.MULTILINE)
    spans = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
    return spans.sub("CODE", fences.sub("BLOCK", text))


def skeleton(chart: str) -> list[str]:
    return [LABEL.sub("L", line) for line in chart.splitlines()]


def test_a_table_of_verdicts_stands_above_what_was_found() -> None:
    told = report.render(whole())

    assert told.startswith(
        "## pipeproof: refuted\n\n1 proved, 1 refuted, 2 unknown, 2 unreadable\n"
    )
    assert "| `crossed.yaml` | refuted | PP301 deadlock | `rendezvous` |" in told
    assert "| `fine.yaml` | proved |  | `rendezvous, buffered` |" in told
    assert "| `open.yaml` | unknown | PP501 | `buffered` |" in told
    assert "| `bad.yaml` | error |  |  |" in told
    assert "bad.yaml:3:7: '2X0' is no operation; write 2F0 or 1SEND_F3" in told
    assert "odd.yaml: not judged: do not trust this run: no replay" in told
    assert "### `fine.yaml`" not in told


def test_the_first_violation_is_told_with_its_place_and_trace_and_drawn() -> None:
    told = report.render(Result("0", (refuted(),)))

    assert "crossed.yaml:6:25  rank 0, position 3: 0SEND_F1" in told
    assert "rank 0: past 0F0, 0SEND_F0, 0F1; stands at 0SEND_F1 (position 3)" in told
    (chart,) = CHART.findall(told)
    assert "0SEND#95;F1" in chart
    assert all(PLAIN.fullmatch(line) for line in skeleton(chart)), chart


def test_a_success_is_a_table() -> None:
    told = report.render(Result("0", (proved(),)))

    assert "### " not in told
    assert "```" not in told
    assert "accepted" not in told


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_in_a_file_is_markdown(text: str) -> None:
    plain, told = outside(report.render(of("plain"))), report.render(of(text))
    shown = outside(told)
    if not text:  # an empty name has no cell and no transport to name
        plain = plain.replace("| CODE |", "|  |")
    assert shown.replace("### ``", "### CODE") == plain
    assert all(c.isprintable() or c == "\n" for c in told)
    (chart,) = CHART.findall(told)
    assert all(PLAIN.fullmatch(line) for line in skeleton(chart)), chart
    assert skeleton(chart) == skeleton(CHART.findall(report.render(of("plain")))[0])
    assert len(told) < 100_000


def test_what_is_too_long_for_a_summary_is_counted() -> None:
    long = tuple(replace(refuted(), path=f"{n}.yaml") for n in range(2_000))
    told = report.render(Result("0", long))

    assert len(told.encode()) <= 1 << 20
    assert "\n… and 1800 more files\n" in told
    left = re.search(r"\n(\d+) more did not fit; `pipeproof check` tells them all\.\n$", told)
    assert left is not None
    assert int(left[1]) + told.count("\n### ") == 2_000


def test_ten_files_are_drawn_and_the_others_told() -> None:
    told = report.render(Result("0", tuple(replace(refuted(), path=f"{n}") for n in range(12))))

    assert told.count("```mermaid") == 10
    assert told.count("\n### ") == 12


def test_a_file_that_cannot_be_read_is_no_picture() -> None:
    assert "mermaid" not in report.render(Result("0", (unreadable(),)))


def boxes(n: int, said: str) -> tuple[Box, ...]:
    return tuple(Box(k, k % 3, k, said, State.DONE, notes=[said]) for k in range(n))


def test_labels_are_cut_until_a_chart_fits() -> None:
    short = mermaid(Slice((), boxes(60, "x"), ()))
    cut = mermaid(Slice((), boxes(90, "#" * 80), ()))

    assert short is not None
    assert cut is not None
    assert len(cut) <= LONGEST
    assert f'"{"#35;" * 39}#8230;<br/>' in cut
    assert mermaid(Slice((), boxes(2_000, "#" * 80), ())) is None


def test_no_more_arrows_are_drawn_than_mermaid_takes() -> None:
    arrows = tuple(Arrow(n % 60, (n + 1) % 60, Means.WAITS) for n in range(MOST + 9))
    chart = mermaid(Slice((), boxes(60, "x"), arrows))

    assert chart is not None
    assert chart.count("==>") == MOST
    assert f"linkStyle {','.join(map(str, range(MOST)))} stroke" in chart


def test_each_kind_of_arrow_says_what_it_means() -> None:
    arrows = tuple(Arrow(0, 1, means, "v") for means in Means)
    chart = mermaid(Slice((), boxes(2, "x"), arrows)) or ""
    links = [line.strip() for line in chart.splitlines() if line.startswith("  n0 ")]

    assert len(links) == len(Means)
    assert links[0] == 'n0 ---|"v"| n1'
    assert links[1] == 'n0 -->|"v"| n1'
    assert 'n0 ==>|"waits for#58; v"| n1' in links
    assert all(PLAIN.fullmatch(line) for line in skeleton(chart))


def test_of_every_refuted_spec_a_picture_with_its_places(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [str(path) for path in sorted((ROOT / "specs/illegal").glob("*.yaml"))[::12]]
    assert run(["check", *paths, "--format", "markdown"]) == 1
    told = capsys.readouterr().out
    assert run(["check", *paths, "--format", "markdown"]) == 1
    assert capsys.readouterr().out == told

    sections = told.split("\n### ")[1:]
    assert len(sections) == len(paths)
    for section in sections[:10]:
        charts = CHART.findall(section)
        assert len(charts) == 1, section[:80]
        assert all(PLAIN.fullmatch(line) for line in skeleton(charts[0])), charts[0]
        assert "classDef illegal" in charts[0] or "classDef named" in charts[0]
