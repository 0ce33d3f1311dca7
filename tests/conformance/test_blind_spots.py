"""The example that shows what torch takes is true, line by line."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "torch_blind_spots"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("torch_blind_spots", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_readme_shows_what_the_example_prints(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")

    assert example.main() == 0
    printed = capsys.readouterr().out.replace(torch.__version__, "2.13.0+cpu")
    table = printed.partition("\n\nforward-twice:")[0]
    assert f"```\n{table}\n```" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_torch_takes_every_case_and_none_is_legal(example: ModuleType) -> None:
    pytest.importorskip("torch")
    rows = list(example.rows())

    assert len(rows) == len(list(FOLDER.glob("*.csv"))) == 12
    for row in rows:
        assert (row.validate, row.load, row.simulate) == ("accepts",) * 3, row
        assert row.ours.startswith("PP"), row


def test_without_torch_it_says_what_it_needs(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    assert example.main() == 2
    assert "needs torch: pip install 'pipeproof[torch]'" in capsys.readouterr().err
