"""What makes it safe: --why."""

import json
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.semantics.made import text

LEGAL = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(text(*LEGAL, transport=["rendezvous", "gloo", "nccl-lazy"]))
    return path


def test_what_makes_a_read_safe_is_told_once_for_transports_that_are_alike(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(spec), "--why", "r1.1"]) == 0
    lines = capsys.readouterr().out.splitlines()

    at = lines.index("  what makes it safe under rendezvous:")
    assert lines[at + 1 : at + 8] == [
        "    r1.1 1F0 needs F0.0 (PP401):",
        "      r1.0 RECV F0.0 arrived -> r1.0 RECV F0.0 from=0 ends -> r1.1 1F0 starts",
        "      without the wait at r1.0 it would not be",
        "  what makes it safe under gloo, nccl-lazy:",
        "    r1.1 1F0 needs F0.0 (PP401):",
        "      r1.0 RECV F0.0 arrived -> r1.1 1F0 starts",
        "      without the wait at r1.1 it would not be",
    ]


def test_explanations_stand_beside_each_transport(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(spec), "--why", "r1.1", "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)["files"][0]["transports"][1]
    (told,) = first["explanations"]

    assert (first["name"], told["rules"], told["needs"], told["known"]) == (
        *("gloo", ["PP401"], "F0.0", True),
    )
    assert (told["at"]["rank"], told["at"]["position"], told["at"]["line"]) == (1, 1, 4)
    assert told["credits"] == []
    assert told["hops"] == [
        {
            "before": {"event": "F0.0", "phase": "arrived", "rank": 1, "position": 0},
            "after": {"event": "1F0", "phase": "start", "rank": 1, "position": 1},
            "crosses": True,
            "needed": True,
        }
    ]


def test_first_explains_the_first_few(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(spec), "--why", "first"]) == 0
    out = capsys.readouterr().out

    assert "    r1.1 1F0 needs F0.0 (PP401):\n" in out
    assert "    r0.3 0B0 needs B1.0 (PP403):\n" in out


def test_nothing_is_explained_where_nobody_asks(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(spec), "--format", "json"]) == 0
    assert "explanations" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["1.1"], "'1.1' is no place; write r1.5, rank and position, or first"),
        (["r1"], "'r1' is no place"),
        (["r01.1"], "'r01.1' is no place"),
        (["r\u0661.1"], "is no place"),
        (["r1.1", "x"], "'x' is no place"),
        (["r1.1", "first"], "write places or first, not both"),
        (["r1.9999999999"], "is no place"),
        (["r9.0"], "--why:1:1: r9.0 is no place; there are 2 ranks; positions count from 0"),
        (["r1.4"], "--why:1:1: r1.4 is no place; rank 1 has 4 instructions"),
    ],
)
def test_a_place_that_is_none_is_refused(
    spec: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    argv = [each for word in words for each in ("--why", word)]
    assert run(["check", str(spec), *argv]) == 2
    told = capsys.readouterr()

    assert told.out == ""
    assert said in " ".join(told.err.split())


def test_a_place_that_lowering_wrote_to_is_explained_with_what_stands_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = ("check", "--schedule", "1f1b", "--ranks", "2", "--microbatches", "2")
    assert run([*known, "--transport", "gloo", "--why", "r1.0"]) == 0

    assert "r1.0 1F0 needs F0.0 (PP401):" in capsys.readouterr().out
