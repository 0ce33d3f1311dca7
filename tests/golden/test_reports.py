"""Reports of schedules, byte by byte; PIPEPROOF_UPDATE=1 writes them anew."""

import os
from pathlib import Path

import pytest

from pipeproof.cli import run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REPORTS = [
    ("specs/illegal/crossed-sends.yaml", "text", "crossed-sends.txt"),
    ("specs/legal/1f1b-4x8.yaml", "text", "1f1b-4x8.txt"),
    ("specs/illegal/crossed-sends.yaml", "json", "crossed-sends.json"),
]


@pytest.mark.parametrize(("path", "form", "golden"), REPORTS, ids=[name for *_, name in REPORTS])
def test_a_report_is_as_it_was_read(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    form: str,
    golden: str,
) -> None:
    monkeypatch.chdir(ROOT)
    run(["check", path, "--format", form, "--color", "never"])
    told = capsys.readouterr().out
    if os.environ.get("PIPEPROOF_UPDATE") == "1":
        (HERE / golden).write_text(told, encoding="utf-8")

    assert told == (HERE / golden).read_text(encoding="utf-8")
