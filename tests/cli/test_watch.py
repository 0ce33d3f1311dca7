"""`check --watch`: judges again at each change, and ends when it is asked to."""

import json
import os
import pty
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeproof.cli import _watch, run
from pipeproof.cli._exits import Exit
from tests.cli.made import PATH

LEGAL = "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0B0\n"
BROKEN = LEGAL.replace("0B0", "0X0")
MISSING = LEGAL.replace("; 0B0", "; 0B1")
SECONDS = 60


def at_once(path: Path, text: str) -> None:
    """Change a file as editors do, so that nobody reads half of it."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    beside.replace(path)


class Child:
    """The command as a process; what it writes to stderr comes line by line."""

    def __init__(self, folder: Path, *argv: str, stdout: int) -> None:
        self.process = subprocess.Popen(  # noqa: S603  our own command
            [sys.executable, "-m", "pipeproof", "check", "--no-config", "--watch", *argv],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": PATH},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put(None)

    def watches(self) -> list[str]:
        """Wait until it has judged; return what it said meanwhile."""
        said: list[str] = []
        while not (said and said[-1].startswith("watching ")):
            line = self._lines.get(timeout=SECONDS)
            assert line is not None, f"it has ended: {said}"
            said.append(line)
        self.said += said
        return said

    def ended(self, number: signal.Signals) -> int:
        """Ask it to end; return how it ended."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        assert self.process.stderr is not None
        self.process.stderr.close()
        while not self._lines.empty():
            self.said.append(self._lines.get() or "")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Child]]:
    children: list[Child] = []

    def start(*argv: str, stdout: int) -> Child:
        children.append(Child(tmp_path, *argv, stdout=stdout))
        return children[-1]

    yield start
    for child in children:
        child.close()


def test_a_folder_is_judged_at_each_change_until_ctrl_c(
    tmp_path: Path, started: Callable[..., Child]
) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "a.yaml").write_text(LEGAL)
    out = tmp_path / "out.txt"
    with out.open("w") as file:
        child = started("specs", "--format", "json", stdout=file.fileno())
        assert child.watches() == ["watching 1 file; Ctrl-C ends\n"]

        at_once(folder / "a.yaml", BROKEN)
        assert "specs/a.yaml:4:10: '0X0' " in child.watches()[0]

        (folder / "new").mkdir()
        at_once(folder / "new" / "b.yaml", MISSING)
        assert "watching 2 files" in child.watches()[-1]
        at_once(folder / "a.yaml", LEGAL)
        assert child.watches() == ["watching 2 files; Ctrl-C ends\n"]

        assert child.ended(signal.SIGINT) == 130
        child.close()
    decoder, text, results = json.JSONDecoder(), out.read_text(), []
    while text.strip():
        result, end = decoder.raw_decode(text)
        results.append([each["verdict"] for each in result["files"]])
        text = text[end:].lstrip()
    assert results[0] == ["proved"]
    assert results[1] == ["error"]
    assert results[-1] == ["proved", "refuted"]
    assert "\x1b" not in out.read_text()
    assert "Traceback" not in "".join(child.said)


def test_what_a_spec_imports_is_watched_what_is_written_is_not_and_a_terminal_is_cleared(
    tmp_path: Path, started: Callable[..., Child]
) -> None:
    (tmp_path / "specs").mkdir()
    imports = "pipeproof: 1\nstages: 1\nimport: {format: torch-csv, path: ../far/run.csv}\n"
    (tmp_path / "specs" / "a.yaml").write_text(imports)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "run.csv").write_text("0F0,0B0\n")
    shown, terminal = pty.openpty()
    try:
        child = started("specs", "-o", "specs/out.json", "--format", "json", stdout=terminal)
        assert child.watches() == ["watching 2 files; Ctrl-C ends\n"]
        at_once(tmp_path / "far" / "run.csv", "0F0,0X0\n")
        assert "run.csv:1:5: " in child.watches()[0]
        at_once(tmp_path / "far" / "run.csv", "0F0,0B0\n")
        assert child.watches()[-1].startswith("watching 2 files")

        assert child.ended(signal.SIGTERM) == 143
        child.close()
        written = os.read(shown, 10_000)
    finally:
        os.close(terminal)
        os.close(shown)
    assert written.count(b"\x1b[2J") == 3
    assert sum(line.startswith("watching") for line in child.said) == 3
    assert json.loads((tmp_path / "specs" / "out.json").read_text())["verdict"] == "proved"


def test_it_ends_once_nobody_reads_what_it_finds(
    tmp_path: Path, started: Callable[..., Child]
) -> None:
    (tmp_path / "a.yaml").write_text(MISSING)
    reader, writer = os.pipe()
    try:
        child = started("a.yaml", stdout=writer)
    finally:
        os.close(writer)
    child.watches()
    os.close(reader)

    assert child.process.wait(SECONDS) == 1


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("-",), "standard input can be read once"),
        (("--schedule", "gpipe", "--ranks", "2", "--microbatches", "2"), "not with --schedule"),
        (("--object", "a:B", "--ranks", "2", "--microbatches", "2"), "not with --object"),
        (("a.yaml", "--frontier", "f"), "not with --frontier"),
        ((), "Write one of PATH..."),
        (("a.yaml", "--transport", "glo"), "did you mean 'gloo'?"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], why: str
) -> None:
    assert run(["check", "--no-config", "--watch", *argv]) == 2
    assert why in capsys.readouterr().err


def test_without_the_library_it_is_said_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)

    assert run(["check", "--no-config", "--watch", "a.yaml"]) == 2
    assert capsys.readouterr().err.endswith("pip install 'pipeproof[watch]'\n")


def test_a_baseline_is_watched_and_a_broken_one_ends_only_the_first_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(LEGAL)
    baseline = Path("baseline.json")
    assert run(["baseline", "baseline.json", "a.yaml", "--reason", "known"]) == 0
    good = baseline.read_text()
    changes = [lambda: baseline.write_text("{"), lambda: baseline.write_text(good)]

    def until_changed(looked: _watch._Looked, known: _watch.State) -> Exit | None:
        assert looked.states() == known
        if not changes:
            return Exit.INTERRUPTED
        changes.pop(0)()
        assert looked.states() != known
        return None

    monkeypatch.setattr(_watch, "_until_changed", until_changed)
    argv = ["check", "--no-config", "--watch", "a.yaml", "--baseline", "baseline.json"]
    assert run(argv) == 130
    captured = capsys.readouterr()
    assert captured.out.count("1 proved, 0 refuted, 0 unknown\n") == 2
    assert captured.err.count("watching 2 files; Ctrl-C ends\n") == 3
    assert "baseline.json:2:1: " in captured.err

    baseline.write_text("{")
    assert run(argv) == 2


def test_what_ends_a_check_ends_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(LEGAL)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeproof.api.judge", interrupted)
    assert run(["check", "--no-config", "--watch", str(tmp_path / "a.yaml")]) == 130
