"""`run --trace`: what is written, and that `conform` reads it."""

import json
import stat
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.semantics import made

pytest.importorskip("torch", reason="torch is not installed")

from pipeproof.execution.runtime.ran import Kind, Ran, Runtime

LEGAL = (
    "0F0; SEND F0.0 to=1; 0F1; [SEND F0.1 to=1 | RECV B1.0 from=1]; 0B0; RECV B1.1 from=1; 0B1",
    "RECV F0.0 from=0; 1F0; 1B0; [RECV F0.1 from=0 | SEND B1.0 to=0]; 1F1; 1B1; SEND B1.1 to=0",
)
EARLY = (LEGAL[0], LEGAL[1].replace("RECV F0.0 from=0; 1F0", "1F0; RECV F0.0 from=0"))


def written(folder: Path, *programs: str, **keys: object) -> str:
    path = folder / "spec.yaml"
    told = {"transport": "rendezvous", "microbatches": 2, **keys}
    path.write_text(made.text(*programs, **told))
    return str(path)


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_is_an_execution_of_its_schedule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, trace = written(tmp_path, *LEGAL), str(tmp_path / "trace.json")

    assert run(["run", path, "--orders", "3", "--trace", trace]) == 0
    capsys.readouterr()
    assert run(["conform", trace, path]) == 0
    out = capsys.readouterr().out
    assert "conforms under rendezvous" in " ".join(out.split())
    assert "42 spans of 2 ranks, 3 steps" in out
    said = json.loads(Path(trace).read_text())
    assert said["otherData"]["pipeproof"] == {
        "schema": "pipeproof.trace/1",
        "clock": "shared",
        "runs_on": "one process",
        "transport": "rendezvous",
    }
    assert {each["args"]["name"] for each in said["traceEvents"] if each["ph"] == "M"} == {
        *("rank 0", "rank 1", "operations", "messages")
    }
    assert left(tmp_path) == {"spec.yaml", "trace.json"}
    assert stat.S_IMODE(Path(trace).stat().st_mode) & 0o400


def test_the_first_transport_that_runs_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *LEGAL, transport=["buffered", "rendezvous"])
    trace = tmp_path / "trace.json"

    assert run(["run", path, "--orders", "1", "--trace", str(trace)]) == 0
    assert json.loads(trace.read_text())["otherData"]["pipeproof"]["transport"] == "buffered"
    capsys.readouterr()
    assert run(["calibrate", str(trace)]) == 0
    assert "# one process ran all ranks in turn" in capsys.readouterr().out


def test_nothing_is_written_of_a_schedule_that_does_not_run_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, trace = written(tmp_path, *EARLY), tmp_path / "trace.json"

    assert run(["run", path, "--trace", str(trace)]) == 1
    assert "no trace was written: nothing whose times are known" in capsys.readouterr().err
    assert left(tmp_path) == {"spec.yaml"}
    chosen = written(tmp_path, "CHOOSE x a|b; 0F0; 0F1; 0B0; 0B1")
    assert run(["run", chosen, "--trace", str(trace)]) == 0
    assert "no trace was written: the runtime chooses" in capsys.readouterr().err
    assert left(tmp_path) == {"spec.yaml"}


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "disk full"), 2)]
)
def test_an_end_in_the_middle_leaves_no_half_file_and_the_old_one_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    path, trace = written(tmp_path, *LEGAL), tmp_path / "trace.json"
    trace.write_text("old")

    def ends(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "replace", ends)

    assert run(["run", path, "--orders", "1", "--trace", str(trace)]) == code
    assert trace.read_text() == "old"
    assert left(tmp_path) == {"spec.yaml", "trace.json"}


def test_a_file_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *LEGAL)

    for trace in (str(tmp_path / "none" / "t.json"), "a\0b", str(tmp_path)):
        assert run(["run", path, "--orders", "1", "--trace", trace]) == 2
        assert "Could not open file" in capsys.readouterr().err
    assert left(tmp_path) == {"spec.yaml"}


def test_an_injected_fault_has_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *LEGAL)

    assert run(["run", path, "--inject", "missing:0", "--trace", "t.json"]) == 2
    assert "--inject and --trace" in capsys.readouterr().err


def test_actions_of_torchs_runtime_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    csv, trace = tmp_path / "run.csv", tmp_path / "trace.json"
    csv.write_text("0F0,0B0\n")
    names = ("0UNSHARD", "0F0", "0B0", "0REDUCE_GRAD", "0RESHARD")
    moments = tuple((0, name, 7 * n, 7 * n + 5) for n, name in enumerate(names))
    monkeypatch.setattr(Runtime, "run", lambda *_, **__: Ran(Kind.RIGHT, 9, moments=moments))
    monkeypatch.setattr(Runtime, "__init__", lambda *_: None)
    monkeypatch.setattr(Runtime, "__exit__", lambda *_: None)

    assert run(["run", str(csv), "--runtime", "torch", "--trace", str(trace)]) == 0
    capsys.readouterr()
    assert run(["conform", str(trace), str(csv)]) == 0
    assert "5 spans of 1 rank, 1 step" in capsys.readouterr().out
