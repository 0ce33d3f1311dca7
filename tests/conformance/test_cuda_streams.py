"""The example of storage on streams, on queues of the CPU: all of its cases, some of its rows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeproof.api import judge_text

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).parents[2] / "examples" / "cuda_streams"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("cuda_streams", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # its dataclasses look there
    spec.loader.exec_module(module)
    for name, value in module.BEFORE_TORCH.items():
        monkeypatch.setenv(name, value)
    return module


def test_every_case_breaks_its_rule_and_is_proved_once_fixed(example: ModuleType) -> None:
    racing = [case for case in example.CASES if case.races]

    assert len(racing) == len(example.CONTROLS) == 20
    assert {case.rule for case in example.CASES} == {f"PP50{n}" for n in range(1, 6)}
    for case in example.CASES:
        assert judge_text(case.broken, case.name).first_rule == case.rule, case.name
    for fixed in {case.fixed for case in example.CASES}:
        assert judge_text(fixed, "fixed").verdict == "proved"


def test_some_rows_are_as_they_should_be(
    example: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(example, "SEEDS", range(2))

    assert example.main(["--device", "cpu-streams", "--part", "23"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("PASS\n")
    assert "PP501 | forward before its WAIT | Fin0 of rank 1 | 2 of 2 | 0 of 2 | Fin0" in printed


def test_a_row_that_is_not_as_it_should_be_fails_it(
    example: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    row = example.Row(("1f1b",), right=False)
    for name in ("refuted", "control", "restart"):
        monkeypatch.setattr(example, name, lambda *_: row)

    assert example.main(["--device", "cpu-streams", "--part", "100"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("! 1f1b") == 3
    assert printed.endswith("FAIL: 3 rows are not as they should be\n")


def test_without_torch_or_a_gpu_it_says_what_it_needs(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    assert example.main(["--device", "cuda"]) == 2
    assert "no CUDA device: torch" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "torch", None)
    assert example.main([]) == 2
    assert "needs torch: pip install 'pipeproof[torch]'" in capsys.readouterr().err
