"""What is drawn beside a baseline, and that one is written whole."""

from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.cli.test_baseline import CROSSED, LEGAL, MISSING, accept, check, write


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("a.yaml", CROSSED)
    write("fine.yaml", LEGAL)


def test_what_is_new_is_drawn_before_what_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    write("b.yaml", MISSING)
    assert check("a.yaml", "b.yaml", "--diagram", "both.dot") == 1
    assert "both.dot: shows b.yaml, the first of 1 with what is new" in capsys.readouterr().err
    write("a.yaml", MISSING)
    assert check("a.yaml", "--diagram", "new.dot") == 1
    assert run(["check", "a.yaml", "--diagram", "all.dot"]) == 1
    assert "PP701" in Path("new.dot").read_text()
    assert "PP301" in Path("all.dot").read_text()

    assert accept("a.yaml", "--reason", "known") == 0
    assert check("a.yaml", "--diagram", "old.dot") == 0
    assert Path("old.dot").read_text() == Path("all.dot").read_text()


def test_a_baseline_that_cannot_be_written_whole_is_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accept("a.yaml", "--reason", "known") == 0
    before = Path("b.json").read_bytes()
    write("b.yaml", MISSING)

    def fails(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(self), None, str(target))

    monkeypatch.setattr(Path, "replace", fails)
    assert accept("b.yaml", "--reason", "known") == 2
    assert "b.json" in capsys.readouterr().err
    assert Path("b.json").read_bytes() == before
    assert not [each.name for each in Path().iterdir() if each.name.startswith(".")]
