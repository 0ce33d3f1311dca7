"""What goes to stdout holds no command of the runner that shows it."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import yaml

from pipeproof.cli import run, show
from pipeproof.cli._output import emit
from tests.reports.paged import data_of

WORD = "##[add-mask]x"
SPEC = """\
pipeproof: 1
title: "##[group]t"
microbatches: 1
transport: rendezvous
ranks:
  - 0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0
  - SEND B1.0 to=0; RECV F0.0 from=0; 1F0; 1B0
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{WORD}.yaml").write_text(SPEC)


@pytest.mark.parametrize(
    "argv",
    [
        ("check", "--format", "json"),
        ("check", "--format", "sarif"),
        ("check", "--format", "perfetto"),
        ("check", "--format", "itf"),
        ("show", "--format", "json"),
        ("slots", "--format", "json"),
    ],
)
def test_data_on_stdout_says_the_same_without_a_command(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...]
) -> None:
    code = run([argv[0], f"{WORD}.yaml", *argv[1:]])
    shown = capsys.readouterr().out
    assert run([argv[0], f"{WORD}.yaml", *argv[1:], "-o", "a.json"]) == code

    assert "##[" not in shown
    assert "add-mask" in shown
    assert json.loads(shown) == json.loads(Path("a.json").read_text())


def test_a_spec_and_a_picture_on_stdout_hold_no_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["convert", f"{WORD}.yaml", "--to", "spec"]) == 0
    shown = capsys.readouterr().out
    assert "##[" not in shown
    assert yaml.safe_load(shown)["title"] == "##[group]t"

    assert run(["diagram", f"{WORD}.yaml"]) == 1
    shown = capsys.readouterr().out
    assert "##[" not in shown
    assert "&#35;#[add-mask]x.yaml" in shown


def plain(markup: str) -> str:
    return markup.replace("&#35;#[", "##[").replace("#\\u0023[", "##[")


@pytest.mark.parametrize("format_", ["html", "junit"])
def test_markup_on_stdout_says_the_same_without_a_command(
    capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    assert run(["check", f"{WORD}.yaml", "--format", format_]) == 1
    shown = capsys.readouterr().out
    assert run(["check", f"{WORD}.yaml", "--format", format_, "-o", "a.txt"]) == 1
    written = Path("a.txt").read_text()

    assert "##[" not in shown
    assert "add-mask" in shown
    assert plain(shown) == plain(written)
    if format_ == "html":
        assert "##[" in written
        assert str(data_of(shown)["files"][0]["path"].text) == f"{WORD}.yaml"


def test_what_holds_no_command_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ('{"a": "# #[b] ##"}\n', "0F0,0B0\n", "digraph {}\n"):
        emit(text)
        assert capsys.readouterr().out == text


class Stream(BytesIO):
    """A stream that takes nothing."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, data: object) -> int:
        raise self.error


@pytest.mark.parametrize("format_", ["text", "json", "svg"])
def test_a_full_disk_behind_stdout_is_no_bug_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    error = OSError(28, "No space left on device")
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(Stream(error), write_through=True))

    assert run(["show", f"{WORD}.yaml", "--format", format_]) == 2
    assert run(["--help"]) == 2
    told = capsys.readouterr().err
    assert "stdout cannot be written to: No space left on device" in told
    assert "Traceback" not in told


def test_a_pipe_whose_reader_is_gone_changes_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for format_ in ("text", "svg"):
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(Stream(BrokenPipeError(32, "gone"))))
        assert run(["show", f"{WORD}.yaml", "--format", format_]) == 1


def test_a_broken_pipe_of_something_else_is_never_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object) -> None:
        raise BrokenPipeError(32, "a child is gone")

    monkeypatch.setattr(show, "sources", breaks)
    assert run(["show", f"{WORD}.yaml"]) == 101
    assert "a child is gone" in capsys.readouterr().err
