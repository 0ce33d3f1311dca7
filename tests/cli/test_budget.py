"""How far engines go: --budget."""

import itertools
import json
import time
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.semantics.made import PASSED_ON, text


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(text(*PASSED_ON, fragment=True, transport="rendezvous"))
    return path


def unknown(out: str) -> dict[str, str]:
    (transport,) = json.loads(out)["files"][0]["transports"]
    return {each["rule"]: each["why"] for each in transport["unknown"]}


@pytest.mark.parametrize(
    ("engine", "budget", "said"),
    [
        ("explore", "states=3", "the budget of 3 states ended the exploration after"),
        (
            "explore",
            "seconds=0.000000001",
            "the time limit of 1e-09 s (by the clock: another run may go further) ended the "
            "exploration after",
        ),
        ("explore", "memory=1B", "the budget of 1 bytes ended the exploration after"),
        ("explore", "memory=0.5KiB,states=4,seconds=60", "the budget of 4 states"),
        (
            "smt",
            "seconds=0.000000001",
            "the solver's time limit of 1e-09 s (by the clock: another run may go further) is over",
        ),
        ("smt", "seconds=9,rlimit=1", "the solver's budget of 1 steps is used up"),
        ("smt", "rlimit=1", "the solver's budget of 1 steps is used up"),
    ],
)
def test_a_budget_that_runs_out_is_unknown_and_says_what_was_covered(
    spec: Path, capsys: pytest.CaptureFixture[str], engine: str, budget: str, said: str
) -> None:
    argv = ["check", str(spec), "--engine", engine, "--budget", budget]
    assert run([*argv, "--format", "json"]) == 3
    first = capsys.readouterr().out
    assert said in unknown(first)["PP301"]
    assert run([*argv, "--format", "json"]) == 3
    assert capsys.readouterr().out == first
    assert run(argv) == 3
    assert f"not decided under rendezvous: PP301: {said}"[:60] in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["graph", "explore", "smt", "all"])
def test_a_budget_that_lasts_changes_nothing(
    spec: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    assert run(["check", str(spec), "--engine", engine]) == 0
    plain = capsys.readouterr().out
    budget = "states=100000,seconds=100,memory=1GiB,rlimit=10000000"
    assert run(["check", str(spec), "--engine", engine, "--budget", budget]) == 0
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("", "''; known: states, seconds, memory, rlimit"),
        ("state=3", "'state'; known: states, seconds, memory, rlimit, did you mean 'states'?"),
        ("states=3,states=4", "'states' stands twice"),
        ("states=3,", "''; known:"),
        ("states", "'' is no number of that; write states=N"),
        ("states=0", "'0' is no number of that"),
        ("states=-1", "'-1' is no number"),
        ("states=1e3", "'1e3' is no number"),
        ("states=٣", "is no number of that"),
        ("states=4294967296", "a whole number from 1 to 4294967295"),
        ("states=" + "9" * 5000, "is no number of that"),
        ("rlimit=x", "write rlimit=N"),
        ("seconds=0", "write seconds=S, as 60 or 0.5"),
        ("seconds=inf", "'inf' is no number"),
        ("seconds=nan", "'nan' is no number"),
        ("memory=0.5B", "'0.5B' is no number of that; write memory=SIZE, as 2GiB"),
        ("memory=2 GiB", "'2 GiB' is no number"),
        ("memory=-1GiB", "'-1GiB' is no number"),
    ],
)
def test_a_budget_that_is_none_is_refused(
    spec: Path, capsys: pytest.CaptureFixture[str], budget: str, said: str
) -> None:
    assert run(["check", str(spec), "--budget", budget]) == 2
    told = capsys.readouterr()

    assert told.out == ""
    assert "Invalid value for --budget: " in told.err
    assert said in " ".join(told.err.split())


@pytest.mark.parametrize("engine", ["graph", "explore", "smt", "all"])
def test_no_clock_changes_a_verdict_where_none_is_asked_for(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    budget = "states=100000,rlimit=10000000"
    assert run(["check", str(spec), "--engine", engine, "--format", "json"]) == 0
    plain = capsys.readouterr().out
    first = int(time.monotonic()) + 1
    hours = itertools.count(first, 36_000)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(hours)))
    assert run(["check", str(spec), "--engine", engine, "--format", "json"]) == 0
    assert capsys.readouterr().out == plain
    argv = ["check", str(spec), "--engine", engine, "--budget", budget, "--format", "json"]
    assert run(argv) == 0
    assert capsys.readouterr().out == plain
    assert next(hours) > first or engine == "graph"


@pytest.mark.parametrize("engine", ["explore", "smt"])
def test_a_clock_that_is_asked_for_is_named_where_it_ends_a_search(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    hours = itertools.count(int(time.monotonic()) + 1, 3_600)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(hours)))
    budget = "states=100000,rlimit=10000000,seconds=60"
    assert run(["check", str(spec), "--engine", engine, "--budget", budget]) == 3
    told = " ".join(capsys.readouterr().out.split())

    assert "time limit of 60 s (by the clock: another run may go further)" in told
    assert "budget of" not in told


@pytest.mark.parametrize(("engine", "part"), [("explore", "states=3"), ("smt", "rlimit=3")])
def test_a_count_that_runs_out_within_a_time_limit_is_no_clock(
    spec: Path, capsys: pytest.CaptureFixture[str], engine: str, part: str
) -> None:
    budget = f"{part},seconds=100000"
    assert run(["check", str(spec), "--engine", engine, "--budget", budget]) == 3
    told = " ".join(capsys.readouterr().out.split())

    assert "budget of 3 st" in told
    assert "clock" not in told
