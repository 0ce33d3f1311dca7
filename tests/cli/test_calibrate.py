"""Costs from a trace, ready to be put into a spec."""

from pathlib import Path

import pytest
import yaml

from pipeproof.cli import run
from pipeproof.ir.recorded import Recorded, Span
from pipeproof.ir.transport import NAMED
from pipeproof.reports._recording import recording
from tests.semantics.spans.made import US, earliest
from tests.timing.made import known

COSTS = {"F": ["1", "1.5"], "B": ["2", "2.75"], "comm": ["0.25", "0.5"]}
MODEL = known("1f1b", 2, 4, COSTS, NAMED["rendezvous"])


def written(path: Path, spans: list[Span], *, together: bool = True, runs_on: str = "") -> str:
    text = recording(Recorded(tuple(spans), together=together, runs_on=runs_on))
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_trace_made_from_costs_gives_them_back_and_a_spec_takes_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "costs.yaml"
    path = written(tmp_path / "t.json", earliest(MODEL))

    assert run(["calibrate", path, "--unit", "10", "-o", str(out)]) == 0
    said = yaml.load(out.read_text(), yaml.BaseLoader)  # noqa: S506  it makes texts only
    assert said == {"costs": COSTS}
    spec = tmp_path / "a.yaml"
    head = "pipeproof: 1\nmicrobatches: 4\ntransport: gloo\nschedule: {name: 1f1b, ranks: 2}\n"
    spec.write_text(head + out.read_text())
    assert run(["show", str(spec)]) == 0
    assert "makespan" in capsys.readouterr().out


def test_samples_and_their_spread_stand_beside_the_medians(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = [earliest(MODEL, n) for n in range(3)]
    late = [s._replace(end=s.end + 3 * US) if s.name == "0F3" else s for s in steps[2]]
    path = written(tmp_path / "t.json", [*steps[0], *steps[1], *late], together=False)

    assert run(["calibrate", path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "# medians in microseconds, of 2 steps; the first step was left out",
        "# comm is not measured: clocks of ranks are not comparable; --skew says that they are",
        "costs:",
        "  # F by stage: 8 samples, 10 to 13; 8 samples, 15 to 15",
        "  F: [10, 15]",
        "  # B by stage: 8 samples, 20 to 20; 8 samples, 27.5 to 27.5",
        "  B: [20, 27.5]",
    ]
    assert run(["calibrate", path, "--skew", "0"]) == 0
    assert "  comm: [2.5, 5]\n" in capsys.readouterr().out


def test_times_of_one_process_are_said_to_be_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert (
        run(["calibrate", written(tmp_path / "t.json", earliest(MODEL), runs_on="one process")])
        == 0
    )
    assert "# one process ran all ranks in turn" in capsys.readouterr().out


def test_what_is_missing_is_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "costs.yaml"
    spans = [s for s in earliest(MODEL) if not s.name.startswith("1B")]

    assert run(["calibrate", written(tmp_path / "t.json", spans), "-o", str(out)]) == 3
    assert "no costs can be written: B of stage 1 has no span" in capsys.readouterr().err
    assert not out.exists()


def test_no_computation_is_nothing_and_no_trace_is_no_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["calibrate", written(tmp_path / "t.json", [])]) == 5
    (tmp_path / "t.json").write_text("[")
    assert run(["calibrate", str(tmp_path / "t.json")]) == 2
    assert "t.json:1:2: this is no JSON" in capsys.readouterr().err
    assert run(["calibrate", str(tmp_path / "t.json"), "--unit", "0"]) == 2
    assert "a unit takes some time" in capsys.readouterr().err


def test_numbers_of_steps_are_no_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '{"traceEvents": [{"name": "0F0", "cat": "computation", "ph": "X", "pid": 0, "tid": 0, '
        '"ts": 0, "dur": 1}]}'
    )

    assert run(["calibrate", str(path)]) == 3
    assert "nothing can be measured" in capsys.readouterr().err
