"""`check --confirm`: every counterexample is replayed, and told with what became of it."""

import json
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.execution import confirm
from pipeproof.execution.confirm import Answer, Confirmed
from tests.cli.made import ROOT
from tests.cli.test_run_ import EARLY, PASSED, written

STUCK = (
    "SEND F0.0 to=1; RECV B1.0 from=1",
    "SEND B1.0 to=0; RECV F0.0 from=0",
)


def violations(out: str) -> list[dict[str, dict[str, str]]]:
    return [
        violation
        for file in json.loads(out)["files"]
        for transport in file["transports"]
        for violation in transport["violations"]
    ]


def test_every_counterexample_says_what_became_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, *EARLY)
    (tmp_path / "stuck").mkdir()
    written(tmp_path / "stuck", *STUCK, transport="strict", fragment=True)

    assert run(["check", str(tmp_path), "--confirm", "--format", "json"]) == 1
    found = violations(capsys.readouterr().out)
    assert {f"{each['rule']} {each['confirmation']['answer']}" for each in found} == {
        "PP401 confirmed",
        "PP301 not observable with this witness",
    }


def test_the_text_tells_what_was_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *EARLY)

    assert run(["check", path, "--confirm", "--witness", "transformer"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "on tensors, confirmed: 1F0: nothing stands there: nothing instead of F0.0, seen in the "
        "numbers" in said
    )


def test_without_the_option_nothing_is_said_of_tensors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *EARLY)
    run(["check", path, "--confirm", "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["files"][0].pop("provenance")["witness"] == "linear"
    for violation in told["files"][0]["transports"][0]["violations"]:
        assert set(violation.pop("confirmation")) == {"answer", "why", "witness"}

    run(["check", path, "--format", "json"])
    assert json.loads(capsys.readouterr().out) == told
    run(["check", path])
    assert "on tensors" not in capsys.readouterr().out


def test_a_counterexample_that_is_not_reproduced_is_exit_code_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, *EARLY)
    lost = Confirmed(Answer.NOT_REPRODUCED, "nothing was met")
    monkeypatch.setattr(confirm, "confirm", lambda *_, **__: lost)

    assert run(["check", path, "--confirm"]) == 4
    assert "on tensors, not reproduced: nothing was met" in capsys.readouterr().out
    assert run(["check", path, "--confirm", "--exit-zero"]) == 4


def test_a_legal_schedule_has_nothing_to_confirm(tmp_path: Path) -> None:
    assert run(["check", written(tmp_path, *PASSED), "--confirm"]) == 0


def test_a_counterexample_in_one_outcome_of_a_choice_is_confirmed_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "CHOOSE x a|b; 0F0 if=x:a; 0B0")

    assert run(["check", path, "--confirm", "--select", "PP402", "--format", "json"]) == 1
    (found,) = violations(capsys.readouterr().out)
    assert str(found["message"]).endswith("(where x is b)")
    assert found["confirmation"] == {
        "answer": "confirmed",
        "why": "0B0: no forward has kept anything: nothing instead of what 0F0 kept, seen in the "
        "numbers",
        "witness": "linear",
    }


def test_a_witness_without_confirm_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED)

    assert run(["check", path, "--witness", "linear"]) == 2
    assert "--witness goes with --confirm" in capsys.readouterr().err


def test_what_goes_wrong_by_a_fault_is_said_to_need_an_injection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = str(ROOT / "specs" / "recovery" / "late-message-does-not-abort.yaml")
    why = "has to be injected: pipeproof run --inject"

    assert run(["check", spec, "--confirm", "--format", "json"]) == 1
    told = capsys.readouterr().out
    (file,) = json.loads(told)["files"]
    found = [each["confirmation"] for t in file["transports"] for each in t["violations"]]
    assert {each["answer"] for each in found} == {"not observable with this witness"}
    assert all(why in each["why"] for each in found)

    assert run(["run", spec]) == 1
    assert why in capsys.readouterr().out

    result = tmp_path / "result.json"
    result.write_text(told)
    assert run(["replay", str(result)]) == 1
    assert why in capsys.readouterr().out


def test_a_fault_in_a_file_hides_no_counterexample_of_its_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    among = {"among": [{"message": "F0.0", "fault": "delayed"}]}
    path = written(tmp_path, *EARLY, faults=among)

    assert run(["check", path, "--confirm", "--format", "json"]) == 1
    told = capsys.readouterr().out
    (file,) = json.loads(told)["files"]
    first = file["transports"][0]["violations"][0]
    assert (first["rule"], first["confirmation"]["answer"]) == ("PP401", "confirmed")

    result = tmp_path / "result.json"
    result.write_text(told)
    assert run(["replay", str(result)]) == 1
    assert "PP401 at r1.0: confirmed" in capsys.readouterr().out
