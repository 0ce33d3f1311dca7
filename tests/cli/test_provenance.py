import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeproof import __version__
from pipeproof.cli import run
from pipeproof.cli._provenance import commit
from tests.cli.test_replay import result
from tests.cli.test_run_ import EARLY, PASSED, written

pytest.importorskip("torch", reason="torch is not installed")

KEYS = {
    *("command", "commit", "versions", "schedule", "transport", "runs_on", "witness", "precision"),
    *("seeds", "inputs", "device", "flags", "placement", "policy", "boundary", "profile"),
}


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    run([*argv, "--format", "json"])
    return capsys.readouterr().out


def ran(folder: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    (only,) = json.loads(told(capsys, "run", written(folder, *PASSED), *argv))["runs"]
    return dict(only["provenance"])


def test_a_run_tells_what_was_seen_and_what_it_came_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED)

    found = json.loads(told(capsys, "run", path, "--orders", "2", "--seed", "7"))

    (only,) = found.pop("runs")
    came = only.pop("provenance")
    assert found == {
        "schema": "pipeproof.run/1",
        "tool": {"name": "pipeproof", "version": __version__},
        "path": path,
        "verdict": "proved",
    }
    assert only == {
        "transport": "buffered",
        "verdict": "proved",
        "answer": "seen",
        "why": "2 orders, 28 numbers, bitwise those of the unsplit model",
        "notes": [],
        "orders": 2,
        "compared": 28,
        "ratio": 0.0,
    }
    assert set(came) == KEYS
    argv = ["run", path, "--orders", "2", "--seed", "7", "--format", "json"]
    assert (came["command"], came["seeds"]) == (argv, [7, 8])
    assert came["flags"]["deterministic_algorithms"] is True
    assert came["versions"]["pipeproof"] == __version__


def test_a_refuted_schedule_tells_its_rule_and_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (only,) = json.loads(told(capsys, "run", written(tmp_path, *EARLY)))["runs"]

    assert (only["answer"], only["rule"]) == ("confirmed", "PP401")
    assert only["at"] == [{"rank": 1, "position": 0}]
    assert set(only["provenance"]) == KEYS


def test_a_replay_tells_what_each_counterexample_came_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(result(tmp_path, *EARLY))

    found = json.loads(told(capsys, "replay", path))

    assert (found["schema"], found["result"]) == ("pipeproof.replay/1", path)
    (only,) = found["counterexamples"]
    assert (only["rule"], only["answer"]) == ("PP401", "confirmed")
    assert set(only["provenance"]) == KEYS


def test_a_result_without_counterexample_is_an_empty_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(told(capsys, "replay", str(result(tmp_path, *PASSED))))

    assert found["counterexamples"] == []


def test_confirmed_counterexamples_come_of_what_is_told_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *EARLY)

    (file,) = json.loads(told(capsys, "check", "--confirm", path))["files"]

    assert set(file["provenance"]) == KEYS - {"transport"}
    assert file["provenance"]["flags"]["deterministic_algorithms"] is True


def test_what_cannot_be_run_is_judged_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segments = "segments: 2\n"
    path = Path(written(tmp_path, "0F0; 0B0; 0F1; 0B1", microbatches=1))
    path.write_text(segments + path.read_text())

    plain = json.loads(told(capsys, "check", str(path)))
    confirmed = json.loads(told(capsys, "check", "--confirm", str(path)))
    assert confirmed["verdict"] == plain["verdict"]


def test_equal_schedules_have_equal_digests_and_others_have_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ran(tmp_path, capsys, "--orders", "1")

    assert ran(tmp_path, capsys, "--orders", "1") == first
    path = written(tmp_path, "0F0; 0B0")
    (other,) = json.loads(told(capsys, "run", path))["runs"]
    assert other["provenance"]["schedule"] != first["schedule"]


@pytest.mark.parametrize(
    ("argv", "carrier", "device"),
    [((), "one process", "cpu"), (("--device", "cpu-streams"), "streams", "cpu-streams")],
)
def test_it_is_told_what_carried_messages_and_where_it_was_computed(
    argv: tuple[str, ...],
    carrier: str,
    device: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    came = ran(tmp_path, capsys, "--orders", "1", *argv)

    assert (came["runs_on"], came["device"]) == (carrier, device)


def test_the_digest_is_that_of_the_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    came = ran(tmp_path, capsys)

    run(["certify", written(tmp_path, *PASSED)])
    assert json.loads(capsys.readouterr().out)["schedule"] == came["schedule"]


def test_with_verbose_a_line_says_what_it_came_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["run", written(tmp_path, *PASSED), "--verbose"])

    _, line = capsys.readouterr().out.splitlines()
    for said in ("torch ", "seeds 0 1 2", "threads 1", "commit ", "device cpu", "policy flush"):
        assert said in line


# the commit


def test_outside_of_a_repository_there_is_no_commit_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    path = written(tmp_path, *PASSED)

    assert ran(tmp_path, capsys)["commit"] is None
    run(["run", path, "--verbose"])
    assert "commit none, in no git repository" in capsys.readouterr().out


def unchanged(path: Path) -> None:
    del path


def changed(path: Path) -> None:
    path.write_text(path.read_text() + "\n")


@pytest.mark.parametrize(("change", "dirty"), [(unchanged, False), (changed, True)])
def test_the_commit_of_the_schedule_is_told_and_whether_it_was_changed_since(
    change: Callable[[Path], None],
    dirty: bool,  # noqa: FBT001  a table
    repository: Path,
) -> None:
    path = Path(written(repository, *PASSED))
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "a")
    change(path)

    commit.cache_clear()
    found = commit(str(path))

    head = (repository / ".git" / "refs" / "heads").iterdir()
    assert found == {"id": next(head).read_text().strip(), "dirty": dirty}


def test_a_schedule_that_is_in_no_commit_is_no_commits(repository: Path) -> None:
    git(repository, "commit", "-qm", "a", "--allow-empty")
    path = written(repository, *PASSED)

    commit.cache_clear()
    found = commit(path)

    assert found is not None
    assert found["dirty"] is True


def test_what_a_repository_would_run_is_not_run(repository: Path) -> None:
    git(repository, "commit", "-qm", "a", "--allow-empty")
    ran, hook = repository / "ran", repository / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))

    commit.cache_clear()
    commit(str(repository / "spec.yaml"))

    assert not ran.exists()


def test_a_result_names_neither_the_machine_nor_its_user_nor_a_path_that_nobody_gave(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(repository, *PASSED)
    monkeypatch.chdir(repository)

    run(["run", "spec.yaml", "--format", "json"])
    out = capsys.readouterr().out

    home = os.path.expanduser("~")  # noqa: PTH111
    for name in (str(repository), os.uname().nodename, home + "/", "user.email"):
        assert name not in out
