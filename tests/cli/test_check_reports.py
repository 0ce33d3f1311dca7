"""`check --format sarif` and `--format junit` over files of every kind, held to `--format json`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from pipeproof.api import Asked
from pipeproof.cli import run
from pipeproof.cli._inputs import expand
from pipeproof.cli._judge import Judge
from pipeproof.cli.check import exit_code
from pipeproof.ir.reading import ReadOptions
from pipeproof.reports import json as json_report
from pipeproof.reports import junit, sarif
from pipeproof.schedules import generate
from pipeproof.verdict.result import Result
from tests.cli.made import PATH, ROOT
from tests.reports.junits import checked as checked_junit
from tests.reports.sarifs import checked as checked_sarif

Run = Callable[..., int]
Json = Any

ILLEGAL = sorted((ROOT / "specs/illegal").glob("*.yaml"))[::7]
OTHERS = (
    "specs/legal/1f1b-4x8.yaml",
    "specs/illegal/send-outlives-its-step.yaml",
    "specs/recovery/doubled-activation-shifts-the-rest.yaml",
    "specs/recovery/corrupted-activation-enters-the-step.yaml",
    "specs/post-validation/two-stages-forward-not-redone.yaml",
    "specs/post-validation/two-stages-stale-not-drained.yaml",
    "specs/upstream/torch-2.13/1f1b-2x3-as-printed.csv",
    "specs/upstream/torch-2.13/1f1b-2x3-deferred.yaml",
    "specs/upstream/torch-2.13/zbv-2x3-deferred.yaml",
)
BROKEN = {
    "empty.yaml": "",
    "word.yaml": "pipeproof",
    "keys.yaml": "pipeproof: 1\nranks: [0F0]\nranks: [0F0]\n",
    "action.yaml": "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 2X0; 0FOO\n  - 0F 1\n",
    "bomb.yaml": "a: &a [x]\nb: [*a, *a]\n",
    "quotes.yaml": 'pipeproof: 1\n"<script>]]>{0}[x](javascript:y)": "\\u202e\\u001b[31m"\n',
    "commands.yaml": 'pipeproof: 1\nranks: ["::error::a%0A", "&amp;"]\n',
    "deep.yaml": "pipeproof: " + "[" * 40 + "]" * 40 + "\n",
    "long.yaml": "pipeproof: 1\n" + "x" * 200_000 + ": 1\n",
    "latin.yaml": "pipeproof: 1\ntitle: \udce9\n",
    "one'two\"three<four>&five\n::error::six.yaml": "pipeproof: 2\n",
}
UNKNOWN = """\
pipeproof: 1
stages: 2
microbatches: 2
transport: [buffered, rendezvous]
title: "]]> {0} [t](javascript:x) \\u202e ::error::"
ranks:
  - 0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1
  - 1RECV_F0; 1F0; 1B0; 1SEND_B0; 1RECV_F1; 1F1; 1B1; 1SEND_B1
"""


@dataclass(frozen=True)
class Told:
    """The same files in each format, and how the command ended."""

    json: Json
    sarif: Json
    junit: Any
    codes: tuple[int, ...]


def _told(folder: Path, *arguments: object) -> Told:
    texts, codes = [], []
    for name in ("json", "sarif", "junit"):
        target = folder / f"told.{name}"
        codes.append(run(["check", *map(str, arguments), "--format", name, "-o", str(target)]))
        texts.append(target.read_text())
    return Told(
        json.loads(texts[0]), checked_sarif(texts[1]), checked_junit(texts[2]), tuple(codes)
    )


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Dozens of files at once: illegal and legal ones, faults, choices, CSVs, broken ones."""
    folder = tmp_path_factory.mktemp("swept")
    broken = []
    for name, text in BROKEN.items():
        broken.append(folder / name)
        broken[-1].write_bytes(text.encode(errors="surrogateescape"))
    files = map(str, (*ILLEGAL, *(ROOT / path for path in OTHERS), *broken))
    judge = Judge(ReadOptions(generate=generate), Asked(), places=True)
    reports = [each for source in expand(list(files)) for each in judge.reports(source)]
    result = Result("0", tuple(reports))
    assert not any(each.kept for each in reports)
    return Told(
        json.loads(json_report.render(result)),
        checked_sarif(sarif.render(result)),
        checked_junit(junit.render(result)),
        (exit_code(result),),
    )


def test_a_sweep_holds_files_of_each_kind(swept: Told) -> None:
    words = [each["verdict"] for each in swept.json["files"]]

    assert words.count("refuted") >= 22
    assert words.count("proved") >= 1
    assert words.count("error") == len(BROKEN)
    assert swept.codes == (2,)


def test_sarif_tells_each_finding_of_json_under_each_of_its_transports(swept: Told) -> None:
    expected = [
        (violation["rule"], transport["name"], violation["message"])
        for file in swept.json["files"]
        for transport in file.get("transports", [])
        for violation in transport["violations"]
    ]
    results = [each for each in swept.sarif["results"] if each["ruleId"].startswith("PP")]
    told = [
        (each["ruleId"], name)
        for each in results
        if each["level"] == "error"
        for name in each["properties"]["transports"]
    ]

    assert sorted(told) == sorted((rule, name) for rule, name, _ in expected)
    for _, _, message in expected:
        start = message[:100].replace("{", "{{").replace("}", "}}")
        assert any(each["message"]["text"].startswith(start) for each in results)


def test_sarif_places_findings_where_json_does(swept: Told) -> None:
    found = {
        (violation["rule"], place["rank"], place["position"], place["line"], place["column"])
        for file in swept.json["files"]
        for transport in file.get("transports", [])
        for violation in transport["violations"]
        for place in violation["at"]
        if place["line"] is not None
    }
    told = set()
    for result in swept.sarif["results"]:
        for each in (*result["locations"], *result.get("relatedLocations", [])):
            for logical in each.get("logicalLocations", []):
                rank, _, position = logical["fullyQualifiedName"][1:].partition(".")
                region = each["physicalLocation"]["region"]
                place = (int(rank), int(position), region["startLine"], region["startColumn"])
                told.add((result["ruleId"], *place))

    assert len(found) > 40
    assert found <= told


def test_every_event_of_an_execution_stands_in_its_file(swept: Told) -> None:
    steps = [
        step["location"]["physicalLocation"]["region"]
        for result in swept.sarif["results"]
        for flow in result.get("codeFlows", [])
        for thread in flow["threadFlows"]
        for step in thread["locations"]
    ]

    assert len(steps) > 1_000
    assert all(each["endColumn"] > each["startColumn"] for each in steps)


def test_executions_are_those_of_json_in_their_order(swept: Told) -> None:
    traces = {
        tuple((step["rank"], step["event"]) for step in violation["trace"])
        for file in swept.json["files"]
        for transport in file.get("transports", [])
        for violation in transport["violations"]
        if violation["trace"]
    }
    told = set()
    for result in swept.sarif["results"]:
        for flow in result.get("codeFlows", []):
            steps = [
                (step["executionOrder"], int(thread["id"][5:]), step["location"])
                for thread in flow["threadFlows"]
                for step in thread["locations"]
            ]
            steps.sort(key=lambda step: step[0])
            told.add(tuple((rank, at["logicalLocations"][0]["name"]) for _, rank, at in steps))

    assert len(told) > 30
    assert told <= traces


def test_no_two_findings_of_a_file_share_a_fingerprint(swept: Told) -> None:
    names = [
        (
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["partialFingerprints"]["pipeproof/v1"],
        )
        for result in swept.sarif["results"]
        if result["ruleId"] != "malformed-file"
    ]

    assert len(set(names)) == len(names)


def test_junit_fails_the_rules_that_json_reports_broken(swept: Told) -> None:
    expected = {
        (file["path"], violation["rule"], transport["name"])
        for file in swept.json["files"]
        for transport in file.get("transports", [])
        for violation in transport["violations"]
    }
    failed = [case for suite in swept.junit for case in suite if case.is_failure]
    told = {(case.classname, case.name[:5], case.name.rpartition(" under ")[2]) for case in failed}

    assert told == expected
    assert len(failed) == len(expected)


def test_a_broken_file_is_an_error_in_each_format(swept: Told) -> None:
    results = [each for each in swept.sarif["results"] if each["ruleId"] == "malformed-file"]
    errors = [case for suite in swept.junit for case in suite if case.name == "is a schedule"]
    problems = [error for file in swept.json["files"] for error in file.get("errors", [])]
    regions = [each["locations"][0]["physicalLocation"]["region"] for each in results]

    assert [(each["startLine"], each["startColumn"]) for each in regions] == [
        (each["line"], each["column"]) for each in problems
    ]
    assert [case.is_error for case in errors] == [True] * len(BROKEN)
    assert not swept.sarif["invocations"][0]["executionSuccessful"]


def test_what_a_budget_leaves_open_is_open_in_sarif_and_an_error_in_junit(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(UNKNOWN)
    told = _told(tmp_path, tmp_path / "a.yaml", "--engine", "explore", "--budget", "states=1")
    open_ = [each for each in told.sarif["results"] if each["kind"] == "open"]
    errors = [case for suite in told.junit for case in suite if case.is_error]

    assert told.codes == (3, 3, 3)
    assert told.json["verdict"] == "unknown"
    assert open_
    assert len(errors) >= len(open_)
    assert {each["ruleId"] for each in open_} == {case.name[:5] for case in errors}
    assert told.sarif["invocations"][0]["executionSuccessful"]
    assert told.sarif["invocations"][0]["exitCode"] == 3


def _first_line(sarif: Json) -> int:
    """Where the first event of the first execution stands."""
    (flow,) = sarif["results"][0]["codeFlows"]
    step = flow["threadFlows"][0]["locations"][0]["location"]
    return int(step["physicalLocation"]["region"]["startLine"])


def test_exit_zero_changes_the_code_and_nothing_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(UNKNOWN)
    plain = _told(tmp_path, tmp_path / "a.yaml")
    zero = _told(tmp_path, tmp_path / "a.yaml", "--exit-zero")

    assert (plain.codes, zero.codes) == ((1, 1, 1), (0, 0, 0))
    assert [each.sarif["invocations"][0]["exitCode"] for each in (plain, zero)] == [1, 0]
    assert plain.sarif["results"] == zero.sarif["results"]
    assert _first_line(plain.sarif) == 7
    assert plain.junit.tostring() == zero.junit.tostring()


def test_a_known_schedule_and_standard_input_have_places_that_github_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = _told(
        tmp_path,
        *("--schedule", "1f1b", "--ranks", 2, "--microbatches", 2, "--transport", "rendezvous"),
        *("--profile", "none"),
    )
    assert known.codes == (known.codes[0],) * 3
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(UNKNOWN.encode())))
    code = run(["check", "-", "--format", "sarif", "-o", "told.sarif"])
    results = checked_sarif(Path("told.sarif").read_text())["results"]
    uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results}

    assert code == 1
    assert uris == {"%3Cstdin%3E"}


BOTH = """
from pipeproof.cli import run
for name in ("sarif", "junit"):
    run(["check", ".", "--format", name])
"""


def test_equal_files_are_equal_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(UNKNOWN)
    (tmp_path / "b.yaml").write_text("pipeproof: 2\n")
    texts = [
        subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-c", BOTH],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PATH, "PYTHONHASHSEED": seed},
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert texts[0] == texts[1]
    assert texts[0].count(b"PP301") > 2


def test_no_file_name_is_a_command_of_a_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["::stop-commands::a.yaml", "b\n::error::c.yaml", "d ##[add-mask]e.yaml"]
    for name in names:
        Path(name).write_text("pipeproof: 2\n")
    said = []
    for format_ in ("text", "github", "junit", "sarif"):
        assert run(["check", *names, "--format", format_]) == 2
        out, err = capsys.readouterr()
        told = [] if format_ == "github" else out.splitlines()
        said += [line.lstrip() for line in (*told, *err.splitlines())]

    assert len(said) > 20
    assert not any(line.startswith("::") or "##[" in line for line in said)
