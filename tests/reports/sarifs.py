"""What SARIF and GitHub ask of a file, beyond its schema and with it."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator

from pipeproof.reports import sarif as report
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Outcome, TraceStep, Violation
from tests.reports.made import STRANDED, transport, verdict

DATA = Path(__file__).parents[1] / "data/sarif/sarif-schema-2.1.0.json"
_URI = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})+")
_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\(([^)]*)\)")
_BRACE = re.compile(r"\{\{|\}\}")

Run = Any


@cache
def _schema() -> Draft4Validator:
    return Draft4Validator(json.loads(DATA.read_text()))


def checked(text: str) -> Run:
    """Return the run of a file, once the schema, the standard and GitHub take it."""
    document = json.loads(text, object_pairs_hook=_once)
    assert [each.message for each in _schema().iter_errors(document)] == []
    assert text.isascii()
    assert len(gzip.compress(text.encode())) <= 10_000_000
    (run,) = document["runs"]
    _tool(run)
    _texts(document)
    results = run["results"]
    assert len(results) <= 25_000
    assert len({"suppressions" in result for result in results}) <= 1
    for result in results:
        _result(result, run)
    for note in run["invocations"][0]["toolExecutionNotifications"]:
        assert note["descriptor"]["id"] in [
            each["id"] for each in run["tool"]["driver"]["notifications"]
        ]
    return run


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def _tool(run: Run) -> None:
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({rule["id"] for rule in rules})
    for rule in rules:
        assert len(rule.get("name", "")) <= 255
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert len(rule.get("properties", {}).get("tags", [])) <= 10


def strings(said: object) -> Iterator[str]:
    """Yield every string in a document."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        for key, value in said.items():
            yield key
            yield from strings(value)
    elif isinstance(said, Sequence):
        for each in said:
            yield from strings(each)


def _texts(document: object) -> None:
    for text in strings(document):
        assert text.replace("\n", "").isprintable()
        assert len(text) <= 8_000


def _result(result: Run, run: Run) -> None:
    rules = run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert (result["kind"], result["level"] == "none") in (("fail", False), ("open", True))
    assert len(result["locations"]) == 1
    assert re.fullmatch("[0-9a-f]{32}", result["partialFingerprints"]["pipeproof/v1"])
    related = result.get("relatedLocations", [])
    assert [each["id"] for each in related] == list(range(1, len(related) + 1))
    assert len(related) < 100
    for place in (*result["locations"], *related):
        _location(place, run)
    _message(result["message"]["text"], len(related))
    for flow in result.get("codeFlows", []):
        _flow(flow, run)


def _message(text: str, related: int) -> None:
    assert text
    assert "{" not in _BRACE.sub("", text)
    assert "}" not in _BRACE.sub("", text)
    for link in _LINK.finditer(text):
        assert 1 <= int(link[2]) <= related
    assert "](" not in _LINK.sub("", text)


def _location(location: Run, run: Run) -> None:
    physical = location["physicalLocation"]
    uri = physical["artifactLocation"]["uri"]
    assert _URI.fullmatch(uri), uri
    assert not uri.startswith("/")
    assert ".." not in uri.split("/")
    base = physical["artifactLocation"].get("uriBaseId")
    assert base in run["originalUriBaseIds"] or uri == "%3Cstdin%3E"
    region = physical["region"]
    assert region["startLine"] == region["endLine"] >= 1
    assert region["endColumn"] >= region["startColumn"] >= 1
    if "snippet" in region:
        shown = region["endColumn"] - region["startColumn"]
        assert len(region["snippet"]["text"]) == min(shown, 500)


def _flow(flow: Run, run: Run) -> None:
    threads = flow["threadFlows"]
    assert len({thread["id"] for thread in threads}) == len(threads)
    orders = [[step["executionOrder"] for step in thread["locations"]] for thread in threads]
    every = sorted(order for one in orders for order in one)
    assert all(one == sorted(one) for one in orders)
    assert every == list(range(every[0], every[0] + len(every)))
    assert every[0] >= 1
    assert len(every) <= 1_000
    for thread in threads:
        for step in thread["locations"]:
            _location(step["location"], run)
            assert step["location"]["message"]["text"].startswith(f"{thread['id']}: ")


def told(*files: FileReport, code: int | None = None) -> Run:
    return checked(report.render(Result("0.5.0", files, exit_code=code)))


def one(*violations: Violation, path: str = "a.yaml", **more: Any) -> FileReport:
    found = verdict(
        transport("rendezvous", Outcome.REFUTED, *violations), outcome=Outcome.REFUTED, path=path
    )
    return FileReport(path, found, **more)


def traced(*steps: tuple[str, str, int, int]) -> Violation:
    return replace(STRANDED, trace=tuple(TraceStep(*step) for step in steps))
