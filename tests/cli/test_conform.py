"""Whether a trace is a run of a schedule, as the command tells it."""

import gzip
import json
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.ir.recorded import Recorded, Span
from pipeproof.reports._recording import recording
from tests.semantics.spans.made import US, earliest, shifted, swapped, without
from tests.timing.made import known

ROOT = Path(__file__).parents[2]
MODEL = known("1f1b", 2, 4)
SPANS = earliest(MODEL)


@pytest.fixture
def schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "run.csv"
    assert run(["generate", "1f1b", "--ranks", "2", "--microbatches", "4", "-o", str(path)]) == 0
    capsys.readouterr()
    return path


def written(path: Path, spans: list[Span], *, together: bool = True) -> str:
    path.write_text(recording(Recorded(tuple(spans), together=together)), encoding="utf-8")
    return str(path)


def told(
    capsys: pytest.CaptureFixture[str], *argv: str
) -> tuple[int, dict[str, object], list[dict[str, object]]]:
    code = run(["conform", *argv, "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    violations = [each for transport in said["transports"] for each in transport["violations"]]
    return code, said, violations


def test_a_run_conforms_and_its_times_stand_beside_the_bounds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schedule: Path
) -> None:
    code = run(["conform", written(tmp_path / "t.json", SPANS), str(schedule)])
    out = capsys.readouterr().out

    assert code == 0
    assert "conforms under nccl-lazy" in " ".join(out.split())
    assert "step 0: makespan 150 us, bubble 20.0 %" in out
    assert "rank 1: 120 us of 120 us busy (100.0 %)" in out
    assert "is over in 150 us at the earliest, bubble 20.0 %; no order is below 150 us" in " ".join(
        out.split()
    )
    assert "it shows neither what kernels cost nor whether the network makes progress" in out
    assert max(map(len, out.splitlines())) <= 100 or str(tmp_path) in out


def test_what_is_wrong_is_told_with_both_spans_and_their_places(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schedule: Path
) -> None:
    path = written(tmp_path / "t.json", swapped(1, "1F1", "1B0")(SPANS))
    code, said, violations = told(capsys, path, str(schedule), "--transport", "gloo")

    assert (code, said["verdict"]) == (1, "refuted")
    (violation,) = violations
    assert (violation["rule"], violation["name"]) == ("PP903", "trace-diverges")
    assert violation["first"] is True
    spans = violation["spans"]
    assert isinstance(spans, list)
    assert [span["name"] for span in spans] == ["1F1", "1B0"]
    lines = Path(path).read_text().splitlines()
    assert all(span["name"] in lines[span["line"] - 1] for span in spans)
    assert run(["conform", path, str(schedule)]) == 1
    out = capsys.readouterr().out
    assert "PP903 trace-diverges: 1F1 of rank 1 begins before 1B0" in out
    assert f"{path}:{spans[0]['line']}:1: '1F1' of rank 1" in out


def test_files_a_rank_and_gzipped_ones_make_up_a_trace_in_a_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schedule: Path
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(2):
        text = recording(
            Recorded(tuple(shifted(rank * 10**9 * US, rank)([s for s in SPANS if s.rank == rank])))
        )
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))
    code, said, _ = told(capsys, str(folder), str(schedule))

    assert (code, said["verdict"]) == (0, "conforms")
    assert "clocks of ranks are not taken as comparable" in str(said["notes"])
    times = said["times"]
    assert isinstance(times, list)
    assert times[0]["makespan"] is None
    assert told(capsys, str(folder), str(schedule), "--skew", "5")[0] == 1
    one = str(folder / "rank0.json.gz")
    code, said, _ = told(capsys, one, str(schedule))
    assert (code, said["unknown"]) == (3, ["the trace holds nothing of rank 1"])


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--skew", "-1"], "'-1' is no time; write microseconds"),
        (["--skew", "x"], "'x' is no time; write microseconds"),
        (["--tolerance", "1e5"], "'1e5' is no time"),
        (["--unit", "nan"], "'nan' is no time"),
        (["--transport", "glo"], "did you mean 'gloo'?"),
    ],
)
def test_an_option_that_means_nothing_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    schedule: Path,
    argv: list[str],
    said: str,
) -> None:
    assert run(["conform", written(tmp_path / "t.json", SPANS), str(schedule), *argv]) == 2
    assert said in capsys.readouterr().err


def test_what_cannot_be_read_exits_2_and_an_empty_trace_5(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schedule: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('[{"ph": "X", "name": "0F0", "ts": 1}]')
    assert run(["conform", str(bad), str(schedule)]) == 2
    assert "bad.json:1:2: the 'dur' of '0F0' is no time" in capsys.readouterr().err
    assert run(["conform", str(tmp_path / "none.json"), str(schedule)]) == 2
    assert "it cannot be read (No such file" in capsys.readouterr().err
    assert run(["conform", "a\0b", str(schedule)]) == 2
    assert run(["conform", str(schedule)]) == 2
    assert "Name a trace and, last, the file" in capsys.readouterr().err
    assert run(["conform", written(tmp_path / "t.json", []), str(schedule)]) == 5
    assert "nothing to check" in capsys.readouterr().out


def test_a_schedule_in_which_the_runtime_chooses_is_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spec = tmp_path / "a.yaml"
    spec.write_text("pipeproof: 1\nmicrobatches: 1\nranks:\n  - CHOOSE x a|b; 0F0; 0B0\n")

    assert run(["conform", written(tmp_path / "t.json", SPANS), str(spec)]) == 3
    assert "the runtime chooses in this schedule" in capsys.readouterr().err


def test_the_time_of_a_trace_of_an_illegal_schedule_is_not_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spec = tmp_path / "a.yaml"
    spec.write_text("pipeproof: 1\nmicrobatches: 2\nranks:\n  - 0F0; 0B0; 0F1; 0B1; 0STEP; 0STEP\n")
    names = ("0F0", "0B0", "0F1", "0B1", "0STEP", "0STEP")
    spans = [Span(0, name, n * US, (n + 1) * US) for n, name in enumerate(names)]
    code, said, _ = told(capsys, written(tmp_path / "t.json", spans), str(spec))

    assert code == 0
    assert "illegal, not comparable" in str(said["model"])


def test_names_from_a_trace_bring_nothing_into_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schedule: Path
) -> None:
    evil = "\x1b[31m::error::\u202e<script>" + "x" * 200_000
    path = written(tmp_path / "t.json", [*SPANS, Span(0, evil, 0, US)])

    assert run(["conform", path, str(schedule)]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not any(line.startswith("::") for line in out.splitlines())
    assert len(out) < 100_000


def test_the_same_trace_gives_the_same_bytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schedule: Path
) -> None:
    path = written(tmp_path / "t.json", without(0, "0F1")(SPANS))
    outputs = set()
    for _ in range(2):
        assert run(["conform", path, str(schedule), "--format", "json"]) == 1
        outputs.add(capsys.readouterr().out)

    assert len(outputs) == 1


def test_rules_of_traces_are_explained_and_not_asked_of_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for code, name in (("PP901", "device-overlap"), ("PP903", "trace-diverges")):
        assert run(["explain", code]) == 0
        assert capsys.readouterr().out.startswith(f"{code} {name}\n")
        assert run(["check", str(ROOT / "specs/legal/1f1b-4x8.yaml"), "--select", code]) == 2
        assert f"{code} is judged of traces, by `pipeproof conform`" in capsys.readouterr().err
    assert run(["check", str(ROOT / "specs/legal/1f1b-4x8.yaml"), "--ignore", "PP901"]) == 0
    assert "PP901" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "per_rank", "spans"), [("gpipe", "1", 48), ("interleaved_1f1b", "2", 276)]
)
def test_what_torchs_profiler_recorded_of_three_steps_on_two_gloo_ranks_conforms(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, per_rank: str, spans: int
) -> None:
    """Torch 2.13.0; of the events that are no operations few are kept."""
    path = str(tmp_path / "run.csv")
    sizes = ("--ranks", "2", "--microbatches", "4", "--stages-per-rank", per_rank)
    assert run(["generate", name, *sizes, "-o", path]) == 0
    folder = ROOT / "tests/data/traces"
    files = (f"{name.replace('_', '-')}-2x4-rank{rank}.json.gz" for rank in range(2))
    traces = [str(folder / file) for file in files]
    code, said, _ = told(capsys, *traces, path, "--transport", "gloo")

    assert (code, said["verdict"], said["steps"], said["spans"]) == (0, "conforms", 3, spans)
    assert told(capsys, *traces, path, "--transport", "gloo", "--skew", "0")[0] == 0
    other = tmp_path / "other.csv"
    other.write_text(Path(path).read_text().replace("0F0,0F1", "0F1,0F0"))
    assert told(capsys, *traces, str(other), "--transport", "gloo")[0] == 1
