"""Counts beside a verdict: `check --statistics`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipeproof.cli import run
from pipeproof.cli.schema import schemas
from tests.semantics.made import PASSED_ON, text

ROOT = Path(__file__).parents[2]
CROSSED = str(ROOT / "specs/illegal/crossed-sends.yaml")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(text(*PASSED_ON, fragment=True, transport="rendezvous"))
    return path


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    run(["check", *argv, "--statistics", "--format", "json"])
    return json.loads(capsys.readouterr().out)


def one(found: Any) -> Any:
    (file,) = found["statistics"]["files"]
    (transport,) = file["transports"]
    return transport


def test_counts_stand_before_the_last_line_and_the_time_on_stderr(
    capsys: pytest.CaptureFixture[str], spec: Path
) -> None:
    assert run(["check", str(spec), CROSSED, "--statistics"]) == 1
    captured = capsys.readouterr()
    lines = captured.out.splitlines()

    assert "statistics:" in lines
    assert f"  {spec}: 4 operations" in lines
    assert any(line.startswith("    rendezvous: by graph, 12 events, ") for line in lines)
    assert any(re.fullmatch(r" +1 +1 +\d+  PP301 deadlock", line) for line in lines)
    assert lines[-1] == "1 proved, 1 refuted, 0 unknown"
    assert captured.err.startswith("judged in ")
    assert "judged in" not in captured.out


def test_without_the_option_nothing_is_counted(
    capsys: pytest.CaptureFixture[str], spec: Path
) -> None:
    assert run(["check", str(spec)]) == 0
    captured = capsys.readouterr()
    assert "statistics" not in captured.out
    assert captured.err == ""
    assert run(["check", str(spec), "--format", "json"]) == 0
    assert "statistics" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("engine", "counted"),
    [
        ("graph", set()),
        ("explore", {"states"}),
        ("smt", {"steps"}),
        ("all", {"states", "steps"}),
    ],
)
def test_engines_say_what_they_took(
    capsys: pytest.CaptureFixture[str], spec: Path, engine: str, counted: set[str]
) -> None:
    found = one(told(capsys, str(spec), "--engine", engine))

    assert found.keys() & {"states", "steps"} == counted
    assert all(found[name] > 0 for name in counted)
    assert engine in {*found["engines"], "all"}
    assert (found["name"], found["events"], found["outcomes"]) == ("rendezvous", 12, 1)
    assert found["transfers"] == 1
    assert found["waits"] > 0


def test_more_states_are_counted_where_more_are_explored(
    capsys: pytest.CaptureFixture[str], spec: Path
) -> None:
    small = one(told(capsys, str(spec), "--engine", "explore"))
    large = one(told(capsys, CROSSED, "--transport", "rendezvous", "--engine", "explore"))

    assert 0 < small["states"] < large["states"]


@pytest.mark.parametrize("engine", ["graph", "explore", "smt"])
def test_outcomes_of_choices_are_counted_together(
    capsys: pytest.CaptureFixture[str], spec: Path, engine: str
) -> None:
    two = "CHOOSE q a|b; 0F0; 0B0; 0STEP if=q:a; 0SKIP if=q:b"
    spec.write_text(text(two, stages=1, microbatches=1, transport="rendezvous"))
    found = one(told(capsys, str(spec), "--engine", engine))

    assert found["outcomes"] == 2
    assert (found.get("states", 0) > 0) == (engine == "explore")
    assert (found.get("steps", 0) > 0) == (engine == "smt")


def test_rules_are_ordered_by_what_they_found_and_counts_add_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [str(path) for path in sorted((ROOT / "specs/illegal").glob("*.yaml"))[::30]]
    found = told(capsys, *paths)
    rules = found["statistics"]["rules"]
    order = [(-each["findings"], each["rule"]) for each in rules]

    assert order == sorted(order)
    assert found["statistics"]["verdicts"]["refuted"] == len(paths)
    for each in rules:
        sums = [
            transport["instances"].get(each["rule"], 0)
            for file in found["files"]
            for transport in file["transports"]
        ]
        assert sum(sums) == each["instances"]
        files = [
            file["path"]
            for file in found["files"]
            if any(
                violation["rule"] == each["rule"]
                for transport in file["transports"]
                for violation in transport["violations"]
            )
        ]
        assert len(files) == each["files"] <= each["findings"]


def test_equal_questions_have_equal_counts(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    argv = ["check", str(spec), "--engine", "all", "--statistics", "--format", "json"]
    assert run(argv) == 0
    first = capsys.readouterr().out
    assert run(argv) == 0
    assert capsys.readouterr().out == first


def test_a_format_without_room_for_counts_leaves_them_to_stderr(
    capsys: pytest.CaptureFixture[str], spec: Path
) -> None:
    assert run(["check", str(spec), "--statistics", "--format", "github"]) == 0
    captured = capsys.readouterr()

    assert "statistics" not in captured.out
    assert captured.err.startswith("statistics:\n")


def test_a_file_that_cannot_be_read_has_no_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = tmp_path / "b\x1b[31m.yaml"
    bad.write_text("pipeproof: 1\nstages: x\n")
    assert run(["check", str(bad), "--statistics"]) == 2
    assert "\x1b" not in capsys.readouterr().out
    found = told(capsys, str(bad))
    assert found["statistics"]["files"] == found["statistics"]["rules"] == []
    assert found["statistics"]["verdicts"]["error"] == 1


def test_the_schema_of_a_result_holds_counts(
    capsys: pytest.CaptureFixture[str], spec: Path
) -> None:
    schema = json.loads(schemas()["result"].read_text())
    validator = Draft202012Validator(schema)
    for engine in ("graph", "all"):
        found = told(capsys, str(spec), CROSSED, "--engine", engine)
        assert list(validator.iter_errors(found)) == []
    found["statistics"]["files"][0]["transports"][0]["states"] = -1
    assert list(validator.iter_errors(found))
