"""Pages that tell a story show what the command prints: their files are written, commands run."""

import re
import shlex
from pathlib import Path

import pytest

from pipeproof.cli import run

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = sorted((DOCS / "tutorial").glob("*.md"))
PAGES = [*TUTORIAL, DOCS / "idle-and-busy.md"]
_FILE = re.compile(r'^```yaml title="([\w./-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"^```console\n\$ pipeproof (.+?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _shows(printed: str, page: str) -> bool:
    """Say whether a page shows what was printed; … stands for lines that are left out."""
    found = 0
    for part in (part.strip("\n") for part in page.split("…\n")):
        found = printed.find(part, found)
        if found < 0:
            return False
        found += len(part)
    return "…\n" in page or printed == page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_prints_what_the_page_shows(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for name, content in _FILE.findall(text):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")

    shown = _SHOWN.findall(text)
    assert shown
    for line, expected in shown:
        run(shlex.split(line))
        assert _shows(capsys.readouterr().out, expected), line


def test_what_is_left_out_hides_no_difference() -> None:
    assert _shows("a\nb\nc\n", "a\n…\nc\n")
    assert not _shows("a\nb\nc\n", "a\n…\nd\n")
    assert not _shows("a\nb\nc\n", "a\nc\n")


def test_there_are_three_pages() -> None:
    assert [page.stem for page in TUTORIAL] == [
        "first-schedule",
        "in-ci",
        "why-does-mine-hang",
    ]
