"""The command, run here with a judge of the test's own, and run as a process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.made import MEASURED, PATH, RULES, Asked, Command, Ended, Process, verdict


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    made = Command(lambda document, _: verdict(document), capsys)
    api = ModuleType("pipeproof.api")
    contents = {
        "Asked": Asked,
        "judge": lambda *asked: made.judge(*asked),  # noqa: PLW0108  a test may replace it
        "rules": lambda: RULES,
        "trace_rules": lambda: (),
        "as_run": lambda document: f'{{"name":"{document.name}"}}',
    }
    for name, value in contents.items():
        monkeypatch.setattr(api, name, value, raising=False)
    monkeypatch.setitem(sys.modules, "pipeproof.api", api)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return made


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "run.csv"
    path.write_text("0F0,0B0\n")
    return path


@pytest.fixture
def process(tmp_path: Path) -> Process:
    def started(*argv: object, stdin: bytes = b"", **environ: str) -> Ended:
        done = subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-c", MEASURED, *map(str, argv)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PATH, **environ},
            check=False,
            timeout=60,
        )
        err, _, used = done.stderr.decode().rstrip("\n").rpartition("\n")
        seconds, peak = used.split()
        return Ended(done.returncode, done.stdout.decode(), err, float(seconds), int(peak) * 1024)

    return started


@pytest.fixture
def graphviz() -> None:
    """Graphviz, which a machine may lack; where it is said to be needed, its absence fails."""
    if shutil.which("dot") is None:
        if os.environ.get("PIPEPROOF_NEEDS_DOT"):
            pytest.fail("Graphviz is not installed")
        pytest.skip("Graphviz is not installed")
