import json
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.cli.test_run_ import EARLY, PASSED, written

pytest.importorskip("torch", reason="torch is not installed")


def result(folder: Path, *programs: str, **keys: object) -> Path:
    path = folder / "result.json"
    run(["check", "--format", "json", "-o", str(path), written(folder, *programs, **keys)])
    return path


def test_counterexamples_of_a_result_are_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = result(tmp_path, *EARLY)

    assert run(["replay", str(path)]) == 1
    assert capsys.readouterr().out == (
        f"{tmp_path}/spec.yaml: buffered: PP401 at r1.0: confirmed: 1F0: nothing stands there: "
        "nothing instead of F0.0, seen in the numbers\n"
    )


def test_a_counterexample_in_a_second_step_is_replayed_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = (
        "0F0 out=a; SEND F0.0 to=1 h=s buf=a",
        "RECV F0.0 from=0; 1F0",
    )
    path = result(tmp_path, *programs, steps="any", fragment=True)

    violations = json.loads(path.read_text())["files"][0]["transports"][0]["violations"]
    assert [each["rule"] for each in violations] == ["PP502"]
    assert run(["replay", str(path)]) == 1
    assert ": confirmed: " in capsys.readouterr().out


def test_a_counterexample_to_another_schedule_is_not_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = result(tmp_path, *EARLY)
    written(tmp_path, *PASSED)

    assert run(["replay", str(path)]) == 4
    assert ": not reproduced: " in capsys.readouterr().out


def test_a_deadlock_is_not_observable_in_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = (
        "SEND F0.0 to=1; RECV B1.0 from=1",
        "SEND B1.0 to=0; RECV F0.0 from=0",
    )
    path = result(tmp_path, *programs, transport="rendezvous", fragment=True)

    assert run(["replay", str(path)]) == 1
    assert "not observable with this witness" in capsys.readouterr().out


def test_a_result_without_counterexample_is_nothing_to_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(result(tmp_path, *PASSED))]) == 5
    assert capsys.readouterr().out.endswith("no counterexample\n")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"schema": "pipeproof.result/1"}', "[" * 100_000, '{"schema": 1}']
    + [
        f'{{"schema": "pipeproof.result/1", "files": [{file}]}}'
        for file in (
            "1",
            '{"transports": [{"violations": 1}]}',
            '{"path": "a", "transports": [{"name": "b", "violations": [{"rule": "PP401"}]}]}',
        )
    ],
)
def test_what_is_no_result_is_exit_code_2(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)

    assert run(["replay", str(path)]) == 2
    assert "it holds no result" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rule", "PP999", "it holds no result"),
        ("at", [{"rank": True, "position": 1}], "it holds no result"),
        ("name", "nonesuch", "has no transport 'nonesuch'"),
    ],
)
def test_a_result_that_was_changed_is_refused_without_a_crash(
    key: str, value: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = result(tmp_path, *EARLY)
    told = json.loads(path.read_text())
    transport = told["files"][0]["transports"][0]
    (transport if key == "name" else transport["violations"][0])[key] = value
    path.write_text(json.dumps(told))

    assert run(["replay", str(path)]) == 2
    assert said in capsys.readouterr().err
