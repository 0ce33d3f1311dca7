"""Every schedule that ships shows what it says that it shows."""

import pytest

from pipeproof.cli import run
from tests.cli.made import ROOT

FOLDERS = sorted(path.name for path in (ROOT / "specs").iterdir())


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_spec_agrees_with_what_it_expects(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)

    assert run(["test", f"specs/{folder}"]) == 0
    agree, differ, unknown = capsys.readouterr().out.split(", ")
    assert int(agree.split()[0]) >= len([*(ROOT / "specs" / folder).rglob("*.yaml")])
    assert (differ, unknown) == ("0 differ", "0 unknown\n")


def test_the_folders_of_specs_hold_all_that_ships() -> None:
    assert len(FOLDERS) > 4
    assert len([*(ROOT / "specs").rglob("*.yaml")]) > 300


def test_every_csv_that_ships_is_listed() -> None:
    for index in (ROOT / "specs").rglob("index.json"):
        text = index.read_text(encoding="utf-8")
        for path in index.parent.glob("*.csv"):
            assert f'"file": "{path.name}"' in text
