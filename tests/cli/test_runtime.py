"""`run --runtime torch`: what is said of a run in torch's runtime, and how the command ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pipeproof.cli import run

pytest.importorskip("torch")

from pipeproof.execution.runtime.ran import At, Kind, Ran, Runtime
from tests.semantics import made

if TYPE_CHECKING:
    from pathlib import Path

    from pipeproof.execution.runtime.programs import Program

LEGAL = "0F0,0B0\n1F0,1B0\n"
SWAPPED = (
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
    "1RECV_F1,1RECV_F0,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1,1REDUCE_GRAD\n"
)
UNSENT = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n"
RIGHT = Ran(Kind.RIGHT, 36)
WRONG = Ran(Kind.WRONG, 40, "rank 0: the output of step 1")
STUCK = Ran(Kind.HANG, 0, "rank 0 in 0B0", (At(0, "0B0"),))


class Torch:
    """What torch's runtime is asked to run, and what it is to show."""

    def __init__(self) -> None:
        self.asked: list[Program] = []
        self.shows = RIGHT

    def run(self, program: Program) -> Ran:
        self.asked.append(program)
        return self.shows


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    shown = Torch()
    monkeypatch.setattr(Runtime, "run", shown.run)
    return shown


def command(folder: Path, text: str, *words: str) -> int:
    path = folder / "order.csv"
    path.write_text(text)
    return run(["run", str(path), "--runtime", "torch", *words])


def test_a_proof_that_torch_shows_right_is_proved(
    tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, LEGAL) == 0
    assert capsys.readouterr().out == (
        f"{tmp_path}/order.csv: gloo: proved; torch's runtime: right: 36 numbers, "
        "bitwise those of the unsplit model\n"
    )
    assert (torch.asked[0].text, torch.asked[0].homes) == (LEGAL, (0, 1))


def test_a_refutation_that_torch_shows_is_refuted(
    tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.shows = WRONG

    assert command(tmp_path, SWAPPED) == 1
    out = capsys.readouterr().out
    assert "gloo: refuted: PP202 rank 1 receives F0.0 where it asks for F0.1" in out
    assert out.endswith("torch's runtime: wrong numbers: rank 0: the output of step 1\n")


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        (LEGAL, WRONG),
        (SWAPPED, RIGHT),
        (SWAPPED, STUCK),
        (UNSENT, replace(STUCK, at=(At(1, "1F0"),))),
    ],
)
def test_a_run_that_does_something_else_is_not_to_be_trusted(
    text: str, shows: Ran, tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.shows = shows

    assert command(tmp_path, text) == 4
    assert ": do not trust this\n" in capsys.readouterr().out


def test_a_difference_that_is_explained_is_told_with_its_reason(
    tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, "0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n") == 1
    out = capsys.readouterr().out
    assert out.endswith("predicted was wrong numbers: the reduction divides nothing\n")


def test_json_holds_what_was_predicted_and_seen(
    tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.shows = STUCK

    assert command(tmp_path, UNSENT, "--format", "json") == 1
    (said,) = json.loads(capsys.readouterr().out)["runs"]
    assert (said["verdict"], said["predicted"], said["seen"]) == ("refuted", "hang", "hang")
    assert said["at"] == [{"rank": 0, "action": "0B0"}]
    assert said["provenance"]["runs_on"] == "torch's runtime over gloo"
    assert len(said["provenance"]["inputs"]) == 64


def test_deferred_receives_and_slots_are_torch_s_own(tmp_path: Path, torch: Torch) -> None:
    bubbles = "0F0,,,0B0\n,1F0,1B0,\n"

    assert command(tmp_path, LEGAL, "--lowering", "torch-deferred") == 0
    assert command(tmp_path, bubbles, "--profile", "torch-multi") == 0
    assert [each.deferred for each in torch.asked] == [True, False]
    assert [each.runner for each in torch.asked] == ["actions", "slots"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--transport", "nccl-lazy"), "torch's runtime is run over gloo"),
        (("--lowering", "just-in-time"), "torch lowers a file itself"),
        (("--processes", "gloo"), "are different ways of running a schedule"),
        (("--inject",), "are different ways of running a schedule"),
        (("--witness", "transformer"), "torch's runtime runs the witness linear only"),
    ],
)
def test_what_torch_cannot_be_asked_is_refused(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    torch: Torch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(tmp_path, LEGAL, *words) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert torch.asked == []


def test_a_file_of_forwards_alone_is_refused(
    tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, "0F0\n1F0\n") == 2
    assert "no backward stands in the file" in capsys.readouterr().err


def test_a_file_that_is_no_csv_of_torch_is_refused(
    tmp_path: Path, torch: Torch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(made.text("0F0; 0B0"))

    assert run(["run", str(path), "--runtime", "torch"]) == 2
    assert "is no CSV of torch" in capsys.readouterr().err
