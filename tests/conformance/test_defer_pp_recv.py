"""The example that runs torch's own schedule shows what its page says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "defer_pp_recv"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("defer_pp_recv", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_torch_trains_on_wrong_gradients_where_we_refute_and_on_right_ones_where_we_prove(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")

    assert example.main() == 0
    printed = capsys.readouterr().out.replace(torch.__version__, "2.13.0+cpu")
    assert f"```\n{printed}```" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_a_run_that_shows_something_else_ends_with_1(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = pytest.importorskip("pipeproof.execution.runtime.ran")
    right = ran.Ran(ran.Kind.RIGHT, 72)
    monkeypatch.setattr(example, "seen", lambda: {False: right, True: right})

    assert example.main() == 1


def test_without_torch_it_says_what_it_needs(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    assert example.main() == 2
    assert "needs torch: pip install 'pipeproof[torch]'" in capsys.readouterr().err
