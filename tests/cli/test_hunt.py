"""`pipeproof hunt`: campaigns, gone on with, in shards and merged."""

import json
from pathlib import Path

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.cli import hunt, run

SELF = ("--self", "--torch", "0", "--cases", "8")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt, "executor", lambda _: Inline())


def hunted(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["hunt", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_workers_find_what_one_process_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = hunted(capsys, *SELF, "--workers", "1")
    monkeypatch.setattr(hunt, "executor", lambda _: Inline())

    assert (code, err) == (0, "")
    assert "8 agree everywhere, 0 do not" in out
    assert hunted(capsys, *SELF) == (0, out, "")


@pytest.mark.usefixtures("_inline")
def test_shards_merged_are_the_whole_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    _, whole, _ = hunted(capsys, *SELF, "--format", "json")
    for shard in ("1/2", "2/2"):
        code, out, _ = hunted(capsys, *SELF, "--shard", shard, "--store", f"{shard[0]}.db")
        assert (code, "0 not run" in out) == (0, False)
    code, merged, _ = hunted(capsys, "merge", "1.db", "2.db", "-o", "both.db", "--format", "json")

    assert (code, merged) == (0, whole)
    assert json.loads(merged)["tasks"]["done"] == 8


@pytest.mark.usefixtures("_inline")
def test_a_store_is_gone_on_with_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    first = hunted(capsys, *SELF, "--store", "a.db")
    refused = hunted(capsys, *SELF, "--store", "a.db")
    again = hunted(capsys, *SELF, "--store", "a.db", "--resume")
    other = hunted(capsys, "--self", "--torch", "0", "--cases", "9", "--store", "a.db", "--resume")

    assert refused[0] == 2
    assert "--resume" in refused[2]
    assert again == first
    assert (other[0], other[1]) == (2, "")
    assert "cases" in other[2]


@pytest.mark.usefixtures("_inline")
def test_an_interrupted_campaign_keeps_what_it_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole, _ = hunted(capsys, *SELF)

    class Stopped(Inline):
        def run(self, tasks, limits):  # type: ignore[no-untyped-def]
            for number, ended in enumerate(super().run(tasks, limits)):
                if number == 3:
                    raise KeyboardInterrupt
                yield ended

    with monkeypatch.context() as patch:
        patch.setattr(hunt, "executor", lambda _: Stopped())
        code, out, err = hunted(capsys, *SELF, "--store", "a.db")
    assert (code, out) == (130, "")
    assert "a.db, and --resume goes on with it" in err
    assert hunted(capsys, *SELF, "--store", "a.db", "--resume")[1] == whole


@pytest.mark.usefixtures("_inline")
def test_no_case_is_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert hunted(capsys, "--self", "--cases", "0")[0] == 5


@pytest.mark.usefixtures("_inline")
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "Write one of FILE..., --schedule, --generator, --self"),
        (("--self", "--schedule", "gpipe"), "Write one of"),
        (("--self", "--resume"), "--resume goes with --store FILE"),
        (("--self", "--shard", "3/2"), "K from 1 to N"),
        (("--self", "--shard", "0/2"), "K from 1 to N"),
        (("--self", "--shard", "::error::"), "K from 1 to N"),
        (("--self", "--workers", "0"), "--workers"),
        (("--self", "--budget", "time=3"), "known: states"),
        (("--self", "--store", "no/such/folder/a.db"), "a.db"),
        (("merge",), "hunt merge STORE... -o STORE"),
        (("merge", "a.db"), "hunt merge STORE... -o STORE"),
        (("merge", "a.db", "-o", "b.db"), "a.db"),
    ],
)
def test_what_is_asked_wrongly_is_told(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], said: str
) -> None:
    code, out, err = hunted(capsys, *argv)

    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
