"""Verdicts that are taken from the cache: the same to the byte, where the same is asked."""

import dataclasses
import json
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.api import Asked
from pipeproof.cli import _cache, run
from pipeproof.cli._cache import Cache
from pipeproof.cli._inputs import expand
from pipeproof.verdict.verdict import FileVerdict, Outcome, Undecided
from tests.cli import caching
from tests.cli.caching import (
    LEGAL,
    STUCK,
    Checked,
    document,
    entries,
)
from tests.cli.made import ROOT, verdict

here, judged, check = caching.here, caching.judged, caching.check


def test_nothing_is_kept_unless_it_is_asked_for(here: Path, check: Checked) -> None:
    check("legal.yaml", "stuck.yaml")
    check("legal.yaml", "--no-cache")

    assert not (here / "cache").exists()


def test_what_was_asked_before_is_not_judged_again_and_that_is_told(
    here: Path, check: Checked, judged: list[str]
) -> None:
    code, out, err = check("--cache", "legal.yaml", "stuck.yaml")
    assert (code, err, judged) == (1, "", ["legal.yaml", "stuck.yaml"])

    said = f"2 of 2 verdicts were reached before and are taken from {here / 'cache'}\n"
    assert check("--cache", "legal.yaml", "stuck.yaml") == (1, out, said)
    assert check("legal.yaml", "stuck.yaml") == (1, out, "")
    assert judged == ["legal.yaml", "stuck.yaml"] * 2


def test_quotes_are_those_of_the_file_as_it_is_now(
    here: Path, check: Checked, judged: list[str]
) -> None:
    check("--cache", "stuck.yaml")
    moved = "# one\n# two\n\n" + STUCK.replace("  - RECV", "  -   RECV").replace("; 1B0", " ;  1B0")
    (here / "other.yaml").write_text(moved)
    found = check("--cache", "other.yaml")

    assert judged == ["stuck.yaml"]
    assert found[:2] == check("other.yaml")[:2]
    assert "other.yaml:7:" in found[1]
    assert "other.yaml:8:7" in found[1]
    assert "stuck.yaml" not in found[1]


@pytest.mark.parametrize(
    "option",
    [
        ("--transport", "gloo"),
        ("--profile", "torch-runtime"),
        ("--select", "PP3"),
        ("--ignore", "PP3"),
        ("--engine", "explore"),
        ("--budget", "states=1000000"),
        ("--budget", "rlimit=1000000"),
        ("--budget", "memory=1GiB"),
        ("--why", "first"),
    ],
)
def test_another_question_is_judged_anew(
    here: Path, check: Checked, judged: list[str], option: tuple[str, ...]
) -> None:
    check("--cache", "stuck.yaml")
    first = check("--cache", "stuck.yaml", *option)
    again = check("--cache", "stuck.yaml", *option)

    assert len(judged) >= 2
    assert first[:2] == again[:2] == check("stuck.yaml", *option)[:2]


def test_what_does_not_change_a_verdict_does_not_keep_it_from_being_taken_up(
    here: Path, check: Checked, judged: list[str]
) -> None:
    check("--cache", "stuck.yaml")
    check("--cache", "stuck.yaml", "--format", "json", "-o", "out.json", "--exit-zero")
    check("--cache", "stuck.yaml", "--format", "github", "--fail-on", "zero", "--limit", "depth=9")

    assert judged == ["stuck.yaml"]
    assert json.loads((here / "out.json").read_text())["verdict"] == "refuted"


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("--budget", "states=9,seconds=60"), "a budget of seconds"),
        (("--frontier", "f"), "--frontier"),
        (("--format", "html"), "--format html"),
    ],
)
def test_what_is_more_than_a_verdict_is_not_taken_from_the_cache(
    here: Path, check: Checked, judged: list[str], argv: tuple[str, ...], why: str
) -> None:
    for _ in range(2):
        assert f"the cache is not used with {why}\n" in check("--cache", "legal.yaml", *argv)[2]
    assert judged == ["legal.yaml"] * 2
    assert not (here / "cache").exists()


def test_confirming_runs_anew(here: Path) -> None:
    values = _cache.Caching(cache=True, cache_dir=None)

    assert _cache.cached(values, {"--confirm": True}) is None
    assert _cache.cached(values, {"--confirm": False}) is not None


@pytest.mark.parametrize("outcome", [Outcome.PROVED, Outcome.REFUTED])
def test_what_is_unknown_is_not_kept_even_in_part(here: Path, outcome: Outcome) -> None:
    legal = document(LEGAL)
    cache = Cache(here / "cache")
    for each in (
        verdict(legal, Outcome.UNKNOWN),
        verdict(legal, outcome, unknown=(Undecided("PP301", "too large"),)),
        dataclasses.replace(verdict(legal, Outcome.UNKNOWN), outcome=outcome),
    ):
        cache.verdict(legal, Asked(), lambda *_, each=each: each)
    assert entries(here / "cache") == []
    cache.verdict(legal, Asked(), lambda *_: verdict(legal, outcome))
    assert len(entries(here / "cache")) == 1


def test_a_crash_and_an_unreadable_file_leave_nothing(
    here: Path, check: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "broken.yaml").write_text("pipeproof: 1\nranks: 3\n")
    assert check("--cache", "broken.yaml")[0] == 2

    def broken(*_: object) -> FileVerdict:
        raise KeyError

    monkeypatch.setattr(api, "judge", broken)
    assert check("--cache", "legal.yaml")[0] == 101
    assert entries(here / "cache") == []


def test_where_the_cache_is_is_not_said_without_a_cache(here: Path, check: Checked) -> None:
    code, _, err = check("--cache-dir", "x", "legal.yaml")

    assert code == 2
    assert "--cache-dir goes with --cache." in err


def test_the_cache_is_heard_from_the_configuration(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "pipeproof.toml").write_text("cache = true\n")
    run(["check", "legal.yaml"])
    assert len(entries(here / "cache")) == 1

    run(["check", "--no-cache", "stuck.yaml"])
    assert len(entries(here / "cache")) == 1


def same_bytes(paths: list[str], check: Checked, judged: list[str]) -> None:
    for form in ("text", "json", "github"):
        plain = check("--format", form, *paths)
        first = check("--cache", "--format", form, *paths)
        before = len(judged)
        again = check("--cache", "--format", form, *paths)
        assert first[:2] == plain[:2]
        assert again[:2] == plain[:2]
        assert len(judged) - before <= plain[1].count("unknown") + 1


def shipped() -> list[str]:
    return [str(each.path) for each in expand([str(ROOT / "specs")])]


def test_a_verdict_that_is_taken_up_is_told_in_the_same_bytes(
    here: Path, check: Checked, judged: list[str]
) -> None:
    same_bytes(shipped()[5::90], check, judged)


@pytest.mark.slow
def test_every_verdict_that_is_taken_up_is_told_in_the_same_bytes(
    here: Path, check: Checked, judged: list[str]
) -> None:
    """Run as `pytest -m slow tests/cli/test_cache.py`; minutes."""
    same_bytes(shipped(), check, judged)
