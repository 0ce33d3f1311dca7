"""The gallery shows what the command prints and draws now."""

import html
import re
from pathlib import Path

import pytest

from pipeproof.cli import run

GALLERY = Path(__file__).parents[2] / "examples/gallery"
SPECS = sorted(GALLERY.glob("*.yaml"))
_TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)


def _drawn(path: Path) -> set[str]:
    return {html.unescape(text).strip() for text in _TEXT.findall(path.read_text())}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_a_report_is_what_check_prints(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(GALLERY)
    run(["check", spec.name, "--color", "never"])

    assert capsys.readouterr().out == (GALLERY / f"pictures/{spec.stem}.txt").read_text()


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_a_diagram_says_what_is_drawn_now(
    spec: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(GALLERY)
    run(["diagram", spec.name, "-o", str(tmp_path / "now.dot")])
    now = (tmp_path / "now.dot").read_text()

    for text in _drawn(GALLERY / f"pictures/{spec.stem}.svg"):
        plain = text.replace("\xa0", " ")
        assert plain in now.replace("\\\\", "\\"), text


def test_the_specs_show_what_they_expect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(GALLERY)

    assert run(["test", "."]) == 0
    assert "0 differ, 0 unknown" in capsys.readouterr().out


def test_twelve_stand_on_the_page_with_both_pictures() -> None:
    page = (GALLERY / "README.md").read_text()

    assert len(SPECS) == 12
    for spec in SPECS:
        assert all(f"pictures/{spec.stem}.{kind}" in page for kind in ("txt", "svg", "png"))
        assert (GALLERY / f"pictures/{spec.stem}.png").is_file()
