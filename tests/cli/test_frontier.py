"""Explorations that are taken up again: --frontier."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.engines._explore_budget import Spent
from tests.semantics.made import text

PROGRAMS = [
    "; ".join(
        f"{own}F0; SEND F{own}.0 to={1 - own} h=x; RECV F{1 - own}.0 from={1 - own}"
        for _ in range(200)
    )
    for own in range(2)
]
STUCK = [f"{PROGRAMS[0]}; SEND u to=1; RECV w from=1", f"{PROGRAMS[1]}; SEND w to=0; RECV u from=0"]
RULES = ("--select", "PP301", "--select", "PP405", "--format", "json")


@pytest.fixture
def frontier(tmp_path: Path) -> Path:
    return tmp_path / "f.json"


@pytest.fixture
def check(tmp_path: Path, frontier: Path) -> Callable[..., int]:
    """Checks a schedule that ends with a deadlock, by exploring."""
    spec = tmp_path / "a.yaml"
    spec.write_text(text(*STUCK, stages=2, fragment=True, transport=["rendezvous", "buffered-1"]))

    def called(*argv: object) -> int:
        words = ("check", spec, "--engine", "explore", *RULES, "--frontier", frontier, *argv)
        return run([str(each) for each in words])

    return called


def test_what_is_taken_up_again_is_told_as_if_it_had_not_been_stopped(
    check: Callable[..., int], frontier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check() == 1
    assert not frontier.exists()
    whole = capsys.readouterr().out
    codes = [check("--budget", "states=900")]
    while frontier.exists() and len(codes) < 20:
        assert json.loads(capsys.readouterr().out)["verdict"] == "unknown"
        codes.append(check("--budget", "states=900"))

    assert codes == [3] * (len(codes) - 1) + [1]
    assert 2 < len(codes) < 20
    assert capsys.readouterr().out == whole
    assert "PP301" in whole


def stop_at(monkeypatch: pytest.MonkeyPatch, looks: int, *numbers: int) -> None:
    """Let signals come when the budget is looked at for the n-th time."""
    real, seen = Spent._look, list[None]()

    def look(spent: Spent) -> None:
        seen.append(None)
        if len(seen) == looks:
            for number in numbers:
                signal.raise_signal(number)
        real(spent)

    monkeypatch.setattr(Spent, "_look", look)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_exploration_that_is_interrupted_can_be_taken_up(
    check: Callable[..., int],
    frontier: Path,
    capsys: pytest.CaptureFixture[str],
    number: int,
    code: int,
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert check() == 1
    whole = capsys.readouterr().out
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, 3, number)
        assert check() == code
    told = capsys.readouterr()

    assert "an interrupt ended the exploration after" in told.out
    assert told.err == "stopped after 1 schedules\n"
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert json.loads(frontier.read_text())["frontiers"]
    assert check() == 1
    assert capsys.readouterr().out == whole
    assert not frontier.exists()


def test_a_second_interrupt_ends_at_once_and_keeps_what_was_explored_before(
    check: Callable[..., int], frontier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, 3, signal.SIGINT, signal.SIGINT)
        assert check() == 130
    entries = json.loads(frontier.read_text())["frontiers"]

    assert entries == []


def test_without_a_frontier_an_interrupt_ends_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "a.yaml"
    spec.write_text(text(*STUCK, stages=2, fragment=True, transport="rendezvous"))
    stop_at(monkeypatch, 3, signal.SIGINT)

    assert run(["check", str(spec), "--engine", "explore"]) == 130
    assert "an interrupt" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ("--transport", "rendezvous"),
        ("--transport", "buffered"),
        ("--profile", "torch-runtime"),
    ],
)
def test_a_frontier_of_another_question_is_refused_and_kept(
    check: Callable[..., int],
    frontier: Path,
    capsys: pytest.CaptureFixture[str],
    argv: tuple[object, ...],
) -> None:
    assert check("--budget", "states=900") == 3
    kept = frontier.read_bytes()
    capsys.readouterr()
    assert check(*argv) == 2
    told = capsys.readouterr()

    assert f"{frontier}:1:1: it is the frontier of another schedule" in told.err
    assert json.loads(told.out)["verdict"] == "error"
    assert frontier.read_bytes() == kept


@pytest.mark.parametrize(
    "written", [b"", b"{", b"pipeproof: 1\n", b"\xff\xfe", b"[" * 100_000, b"\x00" * 9_000_000]
)
def test_a_file_that_is_no_frontier_is_refused_and_kept(
    check: Callable[..., int], frontier: Path, capsys: pytest.CaptureFixture[str], written: bytes
) -> None:
    frontier.write_bytes(written)

    assert check() == 2
    assert capsys.readouterr().err.startswith(f"{frontier}:1:")
    assert frontier.read_bytes() == written


def test_a_frontier_that_is_too_long_names_the_limit(
    check: Callable[..., int], frontier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("--budget", "states=900") == 3
    assert check("--limit", "bytes=400") == 2
    assert "(limit 'bytes': --limit bytes=N)" in capsys.readouterr().err
    assert check() == 1


def test_where_no_file_can_stand_none_is_written(
    check: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ("--frontier", tmp_path)
    nowhere = ("--budget", "states=900", "--frontier", tmp_path / "no" / "f.json")

    assert check(*folder) == 2
    assert f"{tmp_path}:1:1: it is no regular file" in capsys.readouterr().err
    assert check(*nowhere) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["verdict"] == "unknown"
    assert "f.json" in told.err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.yaml"]


def test_a_frontier_is_of_one_schedule(
    check: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.yaml").write_text((tmp_path / "a.yaml").read_text())
    assert check(tmp_path / "b.yaml") == 2
    assert "--frontier:1:1: 2 schedules are asked for; name one" in capsys.readouterr().err


def test_a_schedule_that_is_generated_can_be_taken_up(
    frontier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ("check", "--schedule", "1f1b", "--ranks", "4", "--microbatches", "8")
    asked = [*known, "--engine", "explore", "--transport", "nccl-lazy", "--frontier", str(frontier)]

    assert run([*asked, "--budget", "states=100"]) == 3
    assert frontier.exists()
    assert run(asked) == 0
    assert not frontier.exists()
