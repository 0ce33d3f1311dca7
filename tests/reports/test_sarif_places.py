"""Where SARIF says that things stand, and texts that nothing may come out of."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from pipeproof.errors import Problem
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.reports import sarif as report
from pipeproof.verdict.result import FileReport, Quote, Result
from pipeproof.verdict.verdict import Place, TraceStep, Violation
from tests.reports.made import (
    STRANDED,
)
from tests.reports.sarifs import one, strings, told, traced
from tests.semantics.made import text as written


def document(*programs: str, **keys: object) -> Document:
    made = written(*programs, **keys).replace("ranks: [", "ranks: [\n  ").replace('", "', '",\n  "')
    return spec.read(made, "a.yaml", ReadOptions())[0]


def lines_of(violation: Violation, made: Document) -> list[tuple[int, int, int]]:
    run = told(one(violation, document=made))
    (flow,) = run["results"][0]["codeFlows"]
    steps = [step for thread in flow["threadFlows"] for step in thread["locations"]]
    regions = [
        each["location"]["physicalLocation"]["region"]
        for each in sorted(steps, key=lambda step: step["executionOrder"])
    ]
    return [(each["startLine"], each["startColumn"], each["endColumn"]) for each in regions]


def test_each_event_stands_at_the_line_of_its_own_operation() -> None:
    made = document("0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0")
    violation = traced(
        ("0F0", "done", 0, 0),
        ("SEND F0.0 to=1", "start", 0, 1),
        ("F0.0", "arrived", 1, 0),
        ("end of program", "done", 1, 2),
    )

    assert lines_of(violation, made) == [(4, 4, 7), (4, 9, 13), (5, 4, 8), (5, 22, 25)]


def test_the_second_copy_of_a_program_stands_where_the_first_does() -> None:
    made = document("0F0; 0B0; 0STEP")
    violation = traced(("0B0", "start", 0, 4), ("0STEP", "done", 0, 5))

    assert lines_of(violation, made) == [(4, 9, 12), (4, 14, 19)]


def test_a_message_of_a_group_stands_at_its_own_member() -> None:
    made = document("[SEND m to=1 | SEND n to=1]", "[RECV m from=0 | RECV n from=0]")
    violation = traced(
        ("[SEND m to=1 | SEND n to=1]", "start", 0, 0),
        ("n", "drained", 0, 0),
        ("m", "arrived", 1, 0),
        ("n", "arrived", 1, 0),
    )

    assert lines_of(violation, made) == [(4, 5, 9), (4, 19, 23), (5, 5, 9), (5, 21, 25)]


def test_an_event_of_no_operation_in_the_file_stands_at_the_file() -> None:
    made = replace(document("0F0", ""), places=spec_nowhere())

    assert lines_of(traced(("0F0", "done", 0, 0), ("x", "done", 1, 0)), made) == [(1, 1, 1)] * 2


def spec_nowhere() -> Any:
    class Nowhere:
        def place(self, row: int) -> tuple[int, int]:
            return 0, 0

    return Nowhere()


@pytest.mark.parametrize(
    ("path", "uri", "base"),
    [
        ("specs/a b.yaml", "specs/a%20b.yaml", "%SRCROOT%"),
        ("./specs//a.yaml", "specs/a.yaml", "%SRCROOT%"),
        ("many.yaml#3", "many.yaml", "%SRCROOT%"),
        ("../other/a.yaml", "a.yaml", "OUTSIDE"),
        ("/etc/a.yaml", "a.yaml", "OUTSIDE"),
        ("<stdin>", "%3Cstdin%3E", None),
        ("a:b?c#d.yaml", "a%3Ab%3Fc%23d.yaml", "%SRCROOT%"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29", "%SRCROOT%"),
        ("é\udcff.yaml", "%C3%A9%FF.yaml", "%SRCROOT%"),
        ("1F1B", "1F1B", "%SRCROOT%"),
    ],
)
def test_files_are_named_from_where_the_command_runs(
    path: str, uri: str, base: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    where = told(one(STRANDED, path=path))["results"][0]["locations"][0]["physicalLocation"]

    assert where["artifactLocation"]["uri"] == uri
    assert where["artifactLocation"].get("uriBaseId") == base


def test_an_absolute_path_below_the_folder_is_told_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd#3").touch()
    runs = [
        told(one(STRANDED, path=path)) for path in (f"{tmp_path}/x/a.yaml", "x/a.yaml", "odd#3")
    ]
    uris = [
        run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] for run in runs
    ]

    assert [each["uri"] for each in uris] == ["x/a.yaml", "x/a.yaml", "odd%233"]
    assert runs[0] == runs[1]
    assert str(tmp_path) not in json.dumps(runs)


def test_a_program_in_another_file_is_told_there() -> None:
    quotes = MappingProxyType({3: Quote(2, 5, "0F0,0SEND_F1", "x/run.csv")})
    made = replace(document("0F0"), origin=MappingProxyType({"path": "x/run.csv"}))
    violation = replace(traced(("0F0", "start", 0, 0)), at=STRANDED.at)
    result = told(one(violation, quotes=quotes, document=made))["results"][0]
    step = result["codeFlows"][0]["threadFlows"][0]["locations"][0]
    uris = [
        each["physicalLocation"]["artifactLocation"]["uri"]
        for each in (result["locations"][0], step["location"])
    ]

    assert uris == ["x/run.csv", "x/run.csv"]


HOSTILE = (
    "[click](https://evil.example)",
    "[a](javascript:alert(1))",
    "{0} {{1}}",
    "a\n::error::b\r\x1b[31m\x00",
    "\u202eevil\u2066",
    "</script><b>",
    '"quoted" \\ back',
    "a ##[add-mask]b",
    "\ud800",
    "x" * 200_000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_file_adds_a_link_a_placeholder_or_a_control_character(text: str) -> None:
    place = Place(0, 1, text, 1, 0, 0)
    other = Place(1, 1, text, 2, 0, 0)
    trace = (TraceStep(text, "start", 0, 1), TraceStep(text, "drained", 0, 1))
    hostile = Violation("PP301", text, text, (place, other), 1, trace, first=True)
    quotes = MappingProxyType({1: Quote(1, 1, text), 2: Quote(1, 3, f"  {text}")})
    problem = Problem(f"{text[:100]}.yaml", 1, 1, text, text)
    bad = (
        one(hostile, quotes=quotes),
        FileReport("b", problems=(problem,)),
        FileReport("c", unsupported=text),
    )
    assert "##[" not in report.render(Result("0", bad))
    run = told(*bad)
    messages = [each["message"]["text"] for each in run["results"]]

    assert all(len(each) < 7_000 for each in strings(run["results"]))
    assert "evil.example" not in "".join(
        part for message in messages for part in message.split("](")[1:]
    )


def test_a_line_that_is_long_or_no_more_than_the_operation_is_not_told_again() -> None:
    for text in ("0SEND_F1", f"0SEND_F1; {'0F0; ' * 200}"):
        quotes = MappingProxyType({3: Quote(1, 1, text)})
        place = told(one(STRANDED, quotes=quotes))["results"][0]["locations"][0]

        assert place["physicalLocation"]["region"]["snippet"] == {"text": "0SEND_F1"}
        assert "contextRegion" not in place["physicalLocation"]
