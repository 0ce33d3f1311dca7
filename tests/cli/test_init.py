"""The first spec that `init` writes."""

import re
import shlex
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.cli.schema import schemas
from pipeproof.schedules import names
from tests.cli.schemas import typed, wrong

SCHEMA = "pipeproof.schema.json"
MODELINE = f"# yaml-language-server: $schema={SCHEMA}\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_first_spec_is_legal_and_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    text = Path("schedule.yaml").read_text(encoding="utf-8")
    assert run(["check", "schedule.yaml"]) == 0
    assert run(["test", "schedule.yaml"]) == 0

    assert text.startswith(MODELINE)
    assert wrong("spec", typed(text)) == []
    assert capsys.readouterr().out.endswith("1 agree, 0 differ, 0 unknown\n")


def test_what_it_says_in_comments_may_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    path = Path("schedule.yaml")
    text = path.read_text(encoding="utf-8")
    freed, count = re.subn(r"^# (?=[a-z]+: \{)", "", text, flags=re.MULTILINE)
    path.write_text(freed, encoding="utf-8")

    assert count == 6
    assert wrong("spec", typed(freed)) == []
    assert run(["check", str(path), "--format", "json"]) == 0


def test_a_swapped_receive_of_it_is_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    path = Path("schedule.yaml")
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("0RECV_B1; 0B1", "0RECV_B2; 0B1").replace("0RECV_B2; 0B2", "0RECV_B1; 0B2"),
        encoding="utf-8",
    )

    assert run(["check", str(path)]) == 1
    assert "PP202" in capsys.readouterr().out


def test_it_ends_with_what_to_run_next(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a b").mkdir()
    assert run(["init", "a b"]) == 0
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err == (
        "a b/schedule.yaml: written\n"
        f"completion in editors: pipeproof schema spec -o 'a b/{SCHEMA}'\n"
        "next: pipeproof check 'a b/schedule.yaml'\n"
    )
    for line in captured.err.splitlines()[1:]:
        assert run(shlex.split(line.partition("pipeproof ")[2])) == 0


def test_nothing_is_written_over_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("schedule.yaml")
    path.write_text("mine\n", encoding="utf-8")

    assert run(["init"]) == 2
    assert "schedule.yaml is there already; --force writes over it" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "mine\n"
    assert run(["init", "--force"]) == 0
    assert path.read_text(encoding="utf-8").startswith(MODELINE)


def test_a_link_that_leads_nowhere_is_there_already() -> None:
    Path("schedule.yaml").symlink_to("elsewhere.yaml")

    assert run(["init"]) == 2
    assert not Path("elsewhere.yaml").exists()


def test_the_schema_is_written_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("specs").mkdir()
    assert run(["init", "specs/a.yaml", "--schema"]) == 0
    assert "completion" not in capsys.readouterr().err
    assert Path("specs", SCHEMA).read_bytes() == schemas()["spec"].read_bytes()

    assert run(["init", "specs/b.yaml", "--schema"]) == 0
    Path("specs", SCHEMA).write_text("{}", encoding="utf-8")
    assert run(["init", "specs/c.yaml", "--schema"]) == 2
    assert not Path("specs/c.yaml").exists()


def test_standard_output_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "-"]) == 0
    captured = capsys.readouterr()
    assert run(["init"]) == 0

    assert captured.err == ""
    assert captured.out == Path("schedule.yaml").read_text(encoding="utf-8")
    assert not Path("-").exists()
    assert run(["init", "-", "--schema"]) == 2


@pytest.mark.parametrize("written", [(), ("--programs",)], ids=["named", "written out"])
@pytest.mark.parametrize("name", names())
def test_a_known_schedule_is_legal_and_valid(name: str, written: tuple[str, ...]) -> None:
    shape = ("--ranks", "2", "--microbatches", "4")
    assert run(["init", "known.yaml", "--schedule", name, *shape, *written]) == 0
    text = Path("known.yaml").read_text(encoding="utf-8")

    assert run(["check", "known.yaml"]) == 0
    assert text.startswith(MODELINE)
    assert ("\nranks:\n" in text) is bool(written)
    assert wrong("spec", typed(text)) == []


def test_a_known_schedule_takes_its_shape(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--schedule", "interleaved_1f1b", "--ranks", "2", "--stages-per-rank", "3")
    assert run(["init", "-", *asked]) == 0

    assert "stages: 6\nmicrobatches: 8\n" in (out := capsys.readouterr().out)
    assert "schedule: {name: interleaved_1f1b, ranks: 2, stages_per_rank: 3}\n" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--ranks", "2"), "--ranks goes with --schedule."),
        (("--stages-per-rank", "2"), "--stages-per-rank goes with --schedule."),
        (("--programs",), "--programs goes with --schedule."),
        (("--schedule", "1f1"), "did you mean '1f1b'?"),
        (("--schedule", "zbv", "--stages-per-rank", "7"), "7 stages a rank; zbv takes 2"),
        (("--schedule", "1f1b", "--ranks", "0"), "--ranks"),
        (("no/such/folder.yaml",), "no/such/folder.yaml"),
        (("\n::error::a.yaml/b",), "error::a.yaml"),
    ],
)
def test_what_cannot_be_written_is_said(
    argv: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", *argv]) == 2
    assert said in (err := capsys.readouterr().err)
    assert "\n::error" not in err
    assert not any(Path().iterdir())


def test_no_path_breaks_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "a\n::error::b"]) == 0
    assert run(["init", "a\n::error::b"]) == 2

    assert "\n::error" not in capsys.readouterr().err
