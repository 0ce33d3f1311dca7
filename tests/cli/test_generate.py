"""`pipeproof generate` prints a schedule that judges as the known one does."""

import json
from pathlib import Path

import pytest

from pipeproof.api import Asked, judge
from pipeproof.cli import run
from pipeproof.cli.generate import command as generate_command
from pipeproof.frontends import spec, torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.schedules import generate, names
from tests.cli.made import ROOT

TORCH = ROOT / "tests" / "data" / "torch"
OPTIONS = ReadOptions(generate=generate)


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> "Printed":
    return Printed(capsys)


class Printed:
    """Runs the command; the last call's output is in `out` and `err`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *argv: object, code: int = 0) -> str:
        assert run([str(each) for each in argv]) == code
        captured = self._capsys.readouterr()
        self.err = captured.err
        return captured.out


def read(text: str) -> Document:
    read_one = spec.read if spec.sniff(text, "made") else torch_csv.read
    return read_one(text, "made", OPTIONS)[0]


def told(document: Document) -> tuple[object, ...]:
    """What is said of a schedule, but for where it stands."""
    verdict = judge(document, Asked())
    return tuple(
        (each.name, each.outcome, each.steps, [found.rule for found in each.violations])
        for each in verdict.transports
    )


def sized(name: str) -> tuple[object, ...]:
    return ("generate", name, "--ranks", 2, "--microbatches", 4)


def test_the_help_names_every_known_schedule() -> None:
    said = " ".join((generate_command.help or "").split())

    assert ", ".join(names()) in said


@pytest.mark.parametrize("name", names())
def test_a_csv_holds_the_computations(out: Printed, name: str) -> None:
    document = read(out(*sized(name)))
    known = generate(name, ranks=2, microbatches=4)

    for rank in range(2):
        programs = (each.operations.program(rank) for each in (document.schedule, known))
        assert len({tuple(program) for program in programs}) == 1
    assert document.schedule.lowering == "torch"


@pytest.mark.parametrize("lowering", ["torch", "torch-deferred", "just-in-time"])
@pytest.mark.parametrize("name", names())
def test_every_form_is_judged_alike(out: Printed, name: str, lowering: str) -> None:
    asked = (*sized(name), "--lowering", lowering)
    named = read(out(*asked, "--to", "spec"))
    written = read(out(*asked, "--to", "spec", "--lowered"))
    csv = read(out(*asked, "--lowered"))

    assert named.schedule.lowering == lowering
    assert written.schedule.lowering == csv.schedule.lowering == "as-written"
    assert told(named) == told(written) == told(csv)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("zbv", "ZBVZeroBubble__r2_s4_m4"),
        ("looped_bfs", "LoopedBFS__r2_s4_m4"),
        ("dualpipev", "DualPipeV__r2_s4_m4"),
    ],
)
def test_lowered_it_is_what_torch_makes(out: Printed, name: str, file: str) -> None:
    made = out(*sized(name), "--stages-per-rank", 2, "--lowered")
    theirs = (TORCH / f"{file}__compute_comms.csv").read_text()

    assert made.split() == [row.rstrip(",") for row in theirs.split()]


def test_what_is_asked_stands_in_the_spec(out: Printed) -> None:
    text = out(*sized("gpipe"), "--option", "backward=descending", "--to", "spec")

    assert "\nschedule: {name: gpipe, ranks: 2, backward: descending}\n" in text
    last = list(read(text).schedule.operations.program(0))[-1]
    assert last == "0B0"


def test_it_is_written_to_a_file(out: Printed, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"

    assert out(*sized("1f1b"), "-o", path) == ""
    assert path.read_text().startswith("0F0,0F1,0B0")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("1f1c",), "'1f1c' is no known schedule"),
        (("zbv", "--stages-per-rank", 3), "zbv takes 2"),
        (("gpipe", "--option", "backward"), "write each option once, as backward=descending"),
        (("gpipe", "--option", "backward=up"), "'up' is no value of 'backward'"),
        (("1f1b", "--option", "a=b"), "'a' is no option of 1f1b; it has none"),
        (("1f1b", "--lowering", "torch"), "add --lowered"),
        (("1f1b", "--limit", "instructions=3"), "at most 3 (limit 'instructions'"),
    ],
)
def test_what_cannot_be_had_is_said(out: Printed, more: tuple[object, ...], said: str) -> None:
    assert out("generate", *more, "--ranks", 2, "--microbatches", 4, code=2) == ""
    assert said in " ".join(out.err.split())


class TestCheck:
    """`pipeproof check` judges a known schedule, and a class of one's own, without a file."""

    SIZE = ("--ranks", 2, "--microbatches", 3)

    def test_a_known_schedule_is_proved(self, out: Printed) -> None:
        said = json.loads(out("check", "--schedule", "zbv", *self.SIZE, "--format", "json"))
        (found,) = said["files"]

        assert (found["path"], found["verdict"], found["profile"]) == (
            *("zbv", "proved", "torch-runtime"),
        )
        assert (found["stages"], found["lowering"]) == (4, "torch")

    def test_a_deferred_receive_crosses(self, out: Printed) -> None:
        asked = ("check", "--schedule", "zbv", *self.SIZE, "--lowering", "torch-deferred")
        said = json.loads(out(*asked, "--transport", "gloo", "--format", "json", code=1))
        violation = said["files"][0]["transports"][0]["violations"][0]

        assert (violation["rule"], said["files"][0]["lowering"]) == ("PP202", "torch-deferred")
        assert all(place["lowered"] for place in violation["at"])

    def test_another_profile_is_taken(self, out: Printed) -> None:
        said = out("check", "--schedule", "1f1b", *self.SIZE, "--profile", "none")

        assert "rendezvous-atomic" in said
        assert "profile none" in said

    def test_a_csv_is_lowered_as_asked(self, out: Printed, tmp_path: Path) -> None:
        path = tmp_path / "run.csv"
        out("generate", "zbv", *self.SIZE, "-o", path)

        asked = ("check", path, "--transport", "gloo", "--lowering")
        assert "lowering torch-deferred" in out(*asked, "torch-deferred", code=1)
        assert "lowering just-in-time" in out(*asked, "just-in-time", code=1)

    def test_what_holds_its_messages_is_not_lowered_and_says_so(
        self, out: Printed, tmp_path: Path
    ) -> None:
        path = tmp_path / "run.csv"
        out("generate", "1f1b", *self.SIZE, "--lowered", "-o", path)

        said = out("check", path, "--lowering", "torch-deferred")
        assert "lowering as-written" in said
        told = " ".join(said.split())
        assert "messages stand in the file, so it is not lowered by 'torch-deferred'" in told

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            ((), "Write one of PATH..., --schedule NAME, --object MODULE:CLASS."),
            (("--schedule", "1f1b", "run.csv"), "Write one of PATH..."),
            (("--schedule", "1f1b", "--ranks", 2), "Write --ranks and --microbatches"),
            (("run.csv", "--ranks", 2), "--ranks goes with --schedule or --object"),
            (("--object", "a:B", *SIZE, "--option", "a=b"), "--option goes with --schedule"),
            (("--object", "a", *SIZE), "write MODULE:CLASS"),
            (("--object", "nowhere:B", *SIZE), "--object nowhere:B: ModuleNotFoundError"),
        ],
    )
    def test_what_is_asked_wrongly_is_said(
        self, out: Printed, argv: tuple[object, ...], said: str
    ) -> None:
        assert out("check", *argv, code=2) == ""
        assert said in out.err
        assert "Traceback" not in out.err

    def test_a_class_of_ones_own(
        self, out: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "def early(stages, n):\n"
            "    return {0: ['0F0', '0B0', '0REDUCE_GRAD'], 1: ['1B0', '1F0', None]}\n"
        )
        monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
        asked = ("check", "--object", "mine:early", "--ranks", 2, "--microbatches", 1)

        assert "mine:early: refuted (PP402 backward-before-forward)" in out(*asked, code=1)
        asked = ("check", "--object", "mine:early", "--ranks", 3, "--microbatches", 1)
        out(*asked, code=2)
        assert "it has orders for 2 ranks, not for 3" in out.err

    def test_a_class_of_torch(self, out: Printed) -> None:
        pytest.importorskip("torch")
        name = "torch.distributed.pipelining.schedules:Schedule1F1B"

        said = out("check", "--object", name, *self.SIZE)
        assert "note: torch prints an order of 1F1B whose last rank" in said
        assert "lowering torch-single, profile torch-single" in said

    def test_a_class_has_the_stages_that_it_was_made_with(
        self, out: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "half.py").write_text(
            "def half(stages, microbatches):\n    return {0: ['0F0', '0B0'], 1: ['1F0', '1B0']}\n"
        )
        monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
        size = ("--ranks", 2, "--microbatches", 1, "--stages-per-rank", 2)

        assert "4 stages" in out("check", "--object", "half:half", *size, code=1)
