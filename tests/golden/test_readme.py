"""The README shows what the command prints."""

import re
import shlex
from pathlib import Path

import pytest

from pipeproof.cli import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```console\n\$ pipeproof (.+?)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("line", "printed"), SHOWN, ids=[line for line, _ in SHOWN])
def test_a_command_prints_what_stands_below_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, printed: str
) -> None:
    monkeypatch.chdir(ROOT)
    run([*shlex.split(line), "--color", "never"])

    assert capsys.readouterr().out == printed


def test_the_readme_shows_a_command() -> None:
    assert SHOWN


def test_files_that_the_readme_names_exist() -> None:
    for path in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / path).exists(), path
