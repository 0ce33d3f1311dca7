"""`pipeproof show`: totals, timeline and measures, in words, as data, and as pictures."""

import json
import sys
from pathlib import Path

import pytest

from pipeproof.cli import run

HANGS = "specs/illegal/crossed-sends.yaml"
LEGAL = "specs/legal/1f1b-4x8.yaml"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = run(["show", *argv])
    return code, capsys.readouterr().out


def test_a_legal_schedule_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = shown(capsys, LEGAL, "--transport", "buffered")

    assert code == 0
    assert "makespan 33, bubble 27.3 %, utilisation 72.7 %" in out
    assert "  rank 3 |......F0B0--F1B1--F2B2--" in out
    assert "analytical bubble (P-1)/(M+P-1) = 27.3 %: the same" in out
    assert "33 by the work of a rank with its fill and drain" in out
    assert "necessary for a legal schedule, not sufficient" in out
    assert "it shows neither what kernels cost nor whether the network makes progress" in out


def test_no_line_is_wider_than_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    for microbatches in ("4", "9", "60"):
        _, out = shown(capsys, "--schedule", "zbv", "--ranks", "4", "--microbatches", microbatches)

        assert max(map(len, out.splitlines())) <= 100


def test_nothing_is_told_of_the_speed_of_a_schedule_that_hangs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = shown(capsys, HANGS, "--transport", "rendezvous")

    assert code == 1
    assert "illegal, not comparable: PP301" in out
    assert "makespan" not in out


def test_the_totals_of_an_illegal_schedule_stand_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out = shown(capsys, HANGS, "--transport", "rendezvous")
    _, data = shown(capsys, HANGS, "--transport", "rendezvous", "--format", "json")
    told = json.loads(data)["schedules"][0]

    assert "transfers: 0->1 2 of 2, 1->0 2 of 2" in out
    assert "necessary for a legal schedule, not sufficient" in out
    assert [stage["forwards"] for stage in told["stages"]] == [2, 2]
    assert [boundary["transfers"] for boundary in told["boundaries"]] == [2, 2]


def test_nothing_is_told_of_what_is_not_known_to_be_legal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("pipeproof: 1\nmicrobatches: 1\nbounds: {memory: 1GiB}\nranks: [0F0]\n")
    code, out = shown(capsys, str(path))

    assert code == 3
    assert "not known to be legal, not comparable" in out


def test_json_gives_start_and_end_of_each_operation(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--cost", "F=1.5", "--cost", "B=2,2,2,2", "--format", "json")
    _, out = shown(capsys, LEGAL, "--transport", "buffered", *options)
    said = json.loads(out)
    timing = said["schedules"][0]["timing"]

    assert said["schema"] == "pipeproof.timing/1"
    assert timing["makespan"] == 38.5
    assert len(timing["operations"]) == 64
    assert timing["operations"][0] == {
        "row": 0,
        "rank": 0,
        "operation": "0F0",
        "start": 0,
        "end": 1.5,
    }
    assert timing["bounds"]["work"] == 38.5
    assert timing["stages"][0] == {
        "stage": 0,
        "rank": 0,
        "forwards": 8,
        "backwards": 8,
        "halves": 0,
        "expected": 8,
        "live": 4,
    }


def test_an_illegal_schedule_has_no_timing_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = shown(capsys, HANGS, "--transport", "rendezvous", "--format", "json")

    assert json.loads(out)["schedules"][0]["timing"] is None


def test_transports_that_give_the_same_timeline_are_told_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out = shown(capsys, HANGS)

    assert out.count("illegal, not comparable") == 1
    assert "proved under buffered" in out


def test_schedules_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = shown(capsys, "--compare", LEGAL, HANGS, "--transport", "rendezvous")
    lines = out.splitlines()

    assert code == 1
    assert lines[0].split() == [
        *("schedule", "makespan", "bubble", "microbatches/unit", "most", "live", "above", "bound")
    ]
    assert "33" in lines[1]
    assert "illegal, not comparable" in lines[2]
    assert len(lines[0]) < 110


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ("F=0", "every F takes some time"),
        ("B=1,0,1,1", "every B takes some time"),
        ("F", "write each of F, B, I, W, R, L, comm once"),
        ("F=nan", "write each of F, B, I, W, R, L, comm once"),
        ("F=-1", "write each of F, B, I, W, R, L, comm once"),
        ("Q=1", "write each of F, B, I, W, R, L, comm once"),
        ("F=1,2", "2 times of F; write one for each of 4 stages"),
    ],
)
def test_a_cost_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], cost: str, said: str
) -> None:
    code = run(["show", LEGAL, "--cost", cost])

    assert code == 2
    assert said in capsys.readouterr().err


def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(["show", "nowhere.yaml", LEGAL, "--transport", "buffered"])
    told = capsys.readouterr()

    assert code == 2
    assert "nowhere.yaml:1:1: it does not exist" in told.err
    assert "makespan 33" in told.out


def test_where_there_is_no_schedule_there_is_nothing_to_show(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert shown(capsys, str(tmp_path))[0] == 5
    assert shown(capsys, str(tmp_path), "--format", "json")[0] == 5
    assert shown(capsys, str(tmp_path), LEGAL, "--compare")[0] == 0
    assert run(["slots", str(tmp_path)]) == 5


def test_weak_communicators_have_no_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = shown(capsys, "specs/legal/progress-only-inside-calls-fixed.yaml")

    assert code == 0
    assert "messages of a weak communicator move is not a matter of time alone" in out
    assert "makespan" not in out


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_picture_is_the_same_each_time(tmp_path: Path, kind: str) -> None:
    drawn = []
    for n in range(2):
        path = tmp_path / f"{n}.{kind}"
        code = run(
            ["show", LEGAL, HANGS, "--transport", "rendezvous", "--format", kind, "-o", str(path)]
        )
        drawn.append(path.read_bytes())

        assert code == 1
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(b"\x89PNG" if kind == "png" else b"<?xml")


def test_names_are_no_formulas_and_no_markup_in_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "$x^{<script>}\x1b[31m.yaml"
    path.write_text((ROOT / LEGAL).read_text())
    drawn = tmp_path / "a.svg"

    assert run(["show", str(path), "--format", "svg", "-o", str(drawn)]) == 0
    assert b"<script>" not in drawn.read_bytes()
    assert b"\x1b" not in drawn.read_bytes()


def test_without_matplotlib_a_picture_is_refused_with_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "pipeproof.reports._plot", raising=False)

    assert run(["show", LEGAL, "--format", "svg"]) == 2
    assert "pip install 'pipeproof[plot]'" in capsys.readouterr().err
