"""What is known to be wrong in torch is found by hunting its generators, with no hint of where.

`python -m pytest -m slow tests/campaign/targets/test_generator_torch.py` hunts anew, with torch.
"""

import json
from pathlib import Path

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.campaign.judged import read
from pipeproof.cli import hunt, run

ROOT = Path(__file__).parents[3]


@pytest.fixture
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "executor", lambda _: Inline())


def hunted(folder: Path, *argv: str) -> list[dict[str, str]]:
    report = folder / "report.json"
    code = run(
        ["hunt", *argv, "--found", str(folder / "found"), "--format", "json", "-o", str(report)]
    )
    found: list[dict[str, str]] = json.loads(report.read_text(encoding="utf-8"))["found"]
    assert code == 1
    assert run(["test", str(folder / "found")]) == 0
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("_inline")
def test_deferred_receives_are_found_among_all_that_torch_makes(tmp_path: Path) -> None:
    found = hunted(tmp_path, "--generator", "torch", "--ranks", "1-3", "--microbatches", "1-4")
    crossed = [case for case in found if (case["rule"], case["transport"]) == ("PP202", "gloo")]

    assert {"torch-deferred" in case["name"] for case in found} == {True}
    assert "PP202 zbv torch-deferred" in {case["name"] for case in crossed}
    for case in found:
        schedule = read(case["text"]).schedule
        assert (schedule.ranks, schedule.microbatches) <= (2, 2)
        assert len(schedule.operations) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("_inline")
def test_the_order_that_torch_prints_of_1f1b_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(ROOT / "examples" / "hunt")
    asked = ("--generator", "orders:printed_1f1b", "--ranks", "2-3", "--microbatches", "2-4")
    found = hunted(tmp_path, *asked, "--lowering", "torch")

    assert found
    for case in found:
        assert read(case["text"]).schedule.ranks <= 2
    legal = ("--schedule", "1f1b", "--ranks", "2", "--microbatches", "2", "--profile")
    assert run(["check", *legal, "torch-runtime"]) == 0
