"""How `pipeproof hunt` ends where something is missing, and what it never writes over."""

import json
from pathlib import Path

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.campaign.targets import configured
from pipeproof.cli import hunt, run

FEW = ("--self", "--torch", "0", "--cases", "4")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hunt, "executor", lambda _: Inline())


def hunted(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["hunt", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_merge_that_lacks_a_shard_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    for shard in ("1/2", "2/2"):
        assert hunted(capsys, *FEW, "--shard", shard, "--store", f"{shard[0]}.db")[0] == 0
    code, half, _ = hunted(capsys, "merge", "1.db", "-o", "half.db", "--format", "json")

    assert (code, json.loads(half)["found"]) == (3, [])
    assert json.loads(half)["tasks"]["not_run"] > 0
    assert hunted(capsys, "merge", "1.db", "2.db", "-o", "both.db")[0] == 0


def test_a_merge_that_is_refused_leaves_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("1", "2"):
        hunted(capsys, *FEW[:-1], "1", "--seed", seed, "--store", f"{seed}.db")
    code, _, err = hunted(capsys, "merge", "1.db", "2.db", "-o", "both.db")

    assert (code, "it is the store of a campaign with" in err) == (2, True)
    assert not list(Path.cwd().glob("both.db*"))


@pytest.mark.parametrize("output", ["a.db", "./a.db", "a.db-wal", "link"])
def test_a_report_is_not_written_over_its_store(
    capsys: pytest.CaptureFixture[str], output: str
) -> None:
    one = (*FEW[:-1], "1", "--store", "a.db")
    hunted(capsys, *one)
    Path("link").symlink_to("a.db")
    held = Path("a.db").read_bytes()
    code, _, err = hunted(capsys, *one, "--resume", "-o", output)

    assert (code, "is the store" in err) == (2, True)
    assert Path("a.db").read_bytes() == held
    assert hunted(capsys, *one, "--resume", "-o", "report.txt")[0] == 0


def test_what_no_engine_decides_is_no_success(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = ("--ranks", "2", "--microbatches", "2", "--lowering", "torch")
    assert hunted(capsys, "--generator", "1f1b", *size)[0] == 0
    left = {"verdict": "unknown", "under": [], "ranks": 2, "stages": 2, "microbatches": 2}
    monkeypatch.setattr(configured, "perform", lambda _: left)
    code, out, _ = hunted(capsys, "--generator", "1f1b", *size)

    assert (code, "found: nothing" in out) == (3, True)
    assert "1 configurations are not decided" in out
