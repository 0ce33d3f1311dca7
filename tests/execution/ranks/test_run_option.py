from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from pipeproof.cli import run
from tests.semantics import made

pytest.importorskip("torch")

if TYPE_CHECKING:
    from pathlib import Path

    from pipeproof.execution.ranks.processes import Processes

PASSED = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
)
CROSSED = ("SEND F0.0 to=1; 0F0; RECV B1.0 from=1; 0B0", PASSED[1])


@pytest.fixture(autouse=True)
def _alive(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command use the ranks that are alive already."""
    monkeypatch.setattr(
        "pipeproof.execution.ranks.processes.Processes", lambda: nullcontext(processes)
    )


def written(folder: Path, *programs: str, **keys: object) -> str:
    path = folder / "spec.yaml"
    path.write_text(made.text(*programs, **keys))
    return str(path)


def test_each_rank_is_a_process_and_other_transports_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED, transport=["rendezvous", "rendezvous-rank"])

    assert run(["run", path, "--processes", "gloo", "--orders", "1"]) == 0
    assert capsys.readouterr().out == (
        f"{path}: rendezvous: proved, seen: 1 orders, 14 numbers, bitwise those of the unsplit "
        "model\n"
        f"{path}: rendezvous-rank: not run on real ranks: gloo keeps no queue of all that a rank "
        "sends\n"
    )


def test_a_counterexample_is_run_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *CROSSED, transport="rendezvous")

    assert run(["run", path, "--processes", "gloo"]) == 1
    assert f"{path}: rendezvous: refuted, confirmed: PP405 " in capsys.readouterr().out


def test_where_no_transport_can_be_run_the_answer_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *PASSED, transport="buffered-1")

    assert run(["run", path, "--processes", "gloo"]) == 3
    assert capsys.readouterr().out == (
        f"{path}: buffered-1: not run on real ranks: gloo has no room that a send could wait for\n"
    )
