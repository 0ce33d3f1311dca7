import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.cli.made import PATH, ROOT
from tests.execution.faults.campaign import text

SHOWN = "one run, it shows this fault here and nothing of others"


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "spec.yaml"
    file.write_text(text(2, 1))
    return str(file)


def test_a_fault_is_named_and_what_it_shows_is_told(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", path, "--inject", "dropped@r0:0SEND_F0", "--policy", "recover"]) == 0
    assert capsys.readouterr().out == (
        f"{path}: dropped@r0:0SEND_F0: lost message: rank 0, stage 0, microbatch 0, forward, "
        f"message; named exactly; all ranks: stepped; nothing half applied; {SHOWN}\n"
    )


def test_a_policy_that_cannot_be_kept_ends_with_1(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", path, "--inject", "stops@r1:1", "--policy", "recover"]) == 1
    assert "the ranks have not recovered" in capsys.readouterr().out


def test_without_a_place_it_is_what_the_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spec.yaml"
    among = "[{message: F0.0, fault: dropped}, {op: 1F0, fault: delayed}]"
    file.write_text(f"{text(2, 1)}faults: {{among: {among}, policy: abort}}\n")

    assert run(["run", str(file), "--inject"]) == 0
    both = capsys.readouterr().out.splitlines()
    assert run(["run", str(file), "--inject", "delayed"]) == 0
    one = capsys.readouterr().out.splitlines()
    assert len(both) == 2
    assert one == both[1:]
    assert all("all ranks: skipped" in each for each in both)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("droped@r0:0SEND_F0", "did you mean dropped?"),
        ("dropped@r7:0SEND_F0", "there is no rank 7"),
        ("faults", "the file names no fault; write KIND@PLACE"),
        ("missing", "the file names no fault of the kind missing"),
    ],
)
def test_what_cannot_be_injected_is_an_error_of_usage(
    path: str, fault: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", path, "--inject", fault]) == 2
    err = capsys.readouterr().err
    assert said in " ".join(err.split())
    assert "--inject" in err


def test_what_the_ranks_cannot_run_is_unknown(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(path).write_text(text(1, 1).replace("0STEP", "0STEP\n    SAVE"))

    assert run(["run", path, "--inject", "missing@r0"]) == 3
    assert "not run: SAVE behind the step" in capsys.readouterr().out


def test_a_schedule_that_is_refuted_without_a_fault_is_not_run_with_one(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crossed = text(2, 2).replace("1RECV_F0", "1RECV_F9").replace("1RECV_F1", "1RECV_F0")
    Path(path).write_text(crossed.replace("1RECV_F9", "1RECV_F1"))

    assert run(["run", path, "--inject", "missing@r0"]) == 1
    out = capsys.readouterr().out
    assert "refuted where nothing goes wrong, not run with faults: without a fault, " in out
    assert "message of another identity" not in out  # its sender has sent what came


def test_faults_run_on_gloo_too_and_on_nothing_else(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = ["--inject", "corrupted@r0:0SEND_F0", "--format", "json"]

    assert run(["run", path, *fault, "--processes", "gloo"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert (told["named"], told["outcomes"]) == (True, ["raised", "raised"])
    assert told["provenance"]["runs_on"] == "gloo"
    assert run(["run", path, *fault, "--device", "cpu-streams"]) == 2
    assert "are different ways of running a schedule" in " ".join(capsys.readouterr().err.split())


def test_a_fault_is_told_as_json(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", path, "--inject", "turned=sign@r1:1F0", "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]

    assert told["transport"] == told["provenance"]["transport"]
    assert told["findings"][0]["answer"] == "disagreement"
    assert told["findings"][0]["stage"] == 1
    assert len(told["findings"][0]["confirmations"]) == 2
    assert (told["named"], told["kept"], told["control"]) == (True, True, "clean")
    assert told["shows"] == "this fault in this run only"
    assert told["provenance"]["runs_on"] == "one process, simulated time"


def test_without_it_nothing_of_the_harness_is_imported(path: str) -> None:
    code = (
        "import sys; from pipeproof.cli import run; run(['run', sys.argv[1], '--orders', '1']); "
        "print([name for name in sys.modules if name.startswith('pipeproof.execution.faults')])"
    )
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", code, path],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": PATH, "PATH": ""},
        check=True,
    )

    assert "proved, seen" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_refuted_schedule_is_not_run_where_its_control_shows_nothing(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(path).write_text(text(2, 1).replace("0STEP", "0SEND_F0\n    0STEP"))

    assert run(["run", path, "--inject", "dropped@r0:0SEND_F0#0"]) == 1
    out = capsys.readouterr().out
    assert "refuted where nothing goes wrong, not run with faults: PP" in out
    assert "named exactly" not in out
