import json
from pathlib import Path

import pytest
import torch

from pipeproof.cli import run
from tests.semantics import made

HELD = {"fragment": True, "stages": 2, "transport": "buffered"}
SENT = "SEND F0.0 to=1"
EARLY = (SENT, "RECV F0.0 from=0 h=a buf=s; 1F0 in=s; WAIT a")
AWAITED = (SENT, "RECV F0.0 from=0 h=a buf=s; WAIT a; 1F0 in=s")


def written(folder: Path, *programs: str) -> str:
    path = folder / "spec.yaml"
    path.write_text(made.text(*programs, **HELD))
    return str(path)


def test_a_legal_schedule_is_the_unsplit_model_on_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *AWAITED)

    assert run(["run", path, "--device", "cpu-streams", "--orders", "4"]) == 0
    assert capsys.readouterr().out == (
        f"{path}: buffered: proved, seen: 4 orders, 12 numbers, "
        "bitwise those of the unsplit model\n"
    )


def test_a_race_is_seen_in_the_bits_on_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *EARLY)

    assert run(["run", path, "--device", "cpu-streams", "--format", "json"]) == 1
    (ran,) = json.loads(capsys.readouterr().out)["runs"]
    assert ran["answer"] == "confirmed"
    assert ran["why"].startswith("1F0 in=s reads NaN for F0.0 in s, on free streams, seed ")
    assert ran["provenance"]["device"] == "cpu-streams"


def test_without_a_gpu_nothing_is_run_and_it_is_said_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    assert run(["run", written(tmp_path, *AWAITED), "--device", "cuda"]) == 2
    said = capsys.readouterr()
    assert "no CUDA device: torch " in said.err
    assert "'--device cpu-streams' needs none" in said.err
    assert not said.out


@pytest.mark.parametrize(
    "other", [("--processes", "gloo"), ("--runtime", "torch"), ("--witness", "dropout")]
)
def test_what_does_not_go_with_streams_is_refused(
    other: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *AWAITED)

    assert run(["run", path, "--device", "cpu-streams", *other]) == 2
    assert other[0] in capsys.readouterr().err


def test_what_streams_do_not_run_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(made.text("0F0 rng=a; 0B0", transport="buffered"))

    assert run(["run", str(path), "--device", "cpu-streams"]) == 3
    assert capsys.readouterr().out.endswith("not run: streams do not show random state\n")
