"""`pipeproof contract`: one object to log with an experiment."""

import hashlib
import json
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.cli.made import ROOT

STALE = """\
pipeproof: 1
title: stale
microbatches: 2
weights: {policy: stash, updates: microbatch}
ranks:
  - 0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "stale.yaml"
    path.write_text(STALE, encoding="utf-8")
    return path


def command(*argv: str) -> int:
    """The exit code of the command itself: here, what judges is not replaced."""
    return int(run(argv))


def test_the_object_has_its_own_digest(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("contract", str(spec), "--format", "json") == 0

    content = json.loads(capsys.readouterr().out)
    digest = content.pop("digest")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    assert content["schema"] == "pipeproof.contract/1"
    assert [update["gradient"] for update in content["updates"]] == [
        "valid fixed version",
        "valid but stale gradient, delay 1",
    ]
    assert content["updates"][1]["stages"][0]["evaluated_at"] == [
        {"versions": [0], "microbatches": [1]}
    ]
    assert "must be evaluated" in content["convergence"]
    assert content["violations"] == []


def test_the_text_says_what_each_update_is(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("contract", str(spec)) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("stale.yaml: weights stash, updated every microbatch")
    assert "  update 1: valid but stale gradient, delay 1; one version of all stages" in lines
    assert "    stage 0: microbatch 1 at version 0; applied to version 1" in lines
    assert lines[-1].startswith("  digest: sha256:")


def test_broken_rules_of_versions_are_told_beside_it(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec.write_text(STALE.replace(" w=stash", ""), encoding="utf-8")

    assert command("contract", str(spec)) == 1
    assert command("contract", str(spec), "--format", "json") == 1

    out = capsys.readouterr().out
    assert "PP601 mixed-version at r0.4: invalid mixed-version derivative" in out
    assert "update 1: invalid mixed-version derivative" in out
    content = json.loads(out[out.index("{\n") :])
    assert content["violations"][0]["at"] == ["r0.4"]


def test_other_rules_do_not_matter(spec: Path) -> None:
    spec.write_text(STALE.replace("0F1", "SEND v to=0; 0F1"), encoding="utf-8")

    assert command("contract", str(spec)) == 0


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("0F0; 0F1", 5),
        ("0F0; 0F1; 0B0; 0B1; 0SKIP", 5),
        ("0F0; 0F1; 0B0; 0B1", 0),
        ("CHOOSE x a|b; 0F0; 0F1; 0B0; 0B1; 0STEP if=x:a", 3),
    ],
)
def test_how_it_ends(program: str, code: int, spec: Path) -> None:
    spec.write_text(f"pipeproof: 1\nmicrobatches: 2\nranks: [{json.dumps(program)}]\n")

    assert command("contract", str(spec)) == code


def test_a_choice_leaves_updates_untold(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text("pipeproof: 1\nmicrobatches: 1\nranks: [0F0; CHOOSE x a|b; 0B0]\n")
    command("contract", str(spec), "--format", "json")
    command("contract", str(spec))

    out = capsys.readouterr().out
    assert '"updates": []' in out
    assert "PP601 is undecided: the runtime chooses" in out


def test_what_is_left_is_told(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text(STALE.replace("; 0STEP\n", "\n"), encoding="utf-8")
    command("contract", str(spec))

    assert "taken by no update: stage 0: microbatches 1" in capsys.readouterr().out


def test_a_csv_and_a_known_schedule_have_contracts(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = ROOT / "tests" / "data" / "torch" / "1F1B__r2_s2_m2__compute_only.csv"
    spec.write_text("pipeproof: 1\nmicrobatches: 5\nschedule: {name: 1f1b, ranks: 2}\n")

    assert command("contract", str(csv)) == 0
    assert command("contract", str(spec)) == 0
    out = capsys.readouterr().out
    assert "update 0 (the step ends with the programs): valid fixed version" in out
    assert "stage 1: microbatches 0 to 4 at version 0; applied to version 0" in out


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("pipeproof: 2\n")
    (tmp_path / "b.yaml").write_text("pipeproof: 2\n")

    assert command("contract", str(tmp_path / "a.yaml")) == 2
    assert command("contract", str(tmp_path)) == 2
    assert command("contract", str(tmp_path / "none.yaml")) == 2


def test_it_is_written_to_a_file(spec: Path, tmp_path: Path) -> None:
    assert command("contract", str(spec), "-o", str(tmp_path / "c.txt")) == 0

    assert "digest: sha256:" in (tmp_path / "c.txt").read_text(encoding="utf-8")
