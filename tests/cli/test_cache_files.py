"""The files of the cache: whose they are, what is believed of them, and which are removed."""

import dataclasses
import os
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.api import Asked
from pipeproof.cli import _cache, run
from pipeproof.cli._cache import Cache
from pipeproof.verdict.verdict import FileVerdict
from tests.cli import caching
from tests.cli.caching import (
    LEGAL,
    STUCK,
    Checked,
    document,
    entries,
)

here, judged, check = caching.here, caching.judged, caching.check


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: data.replace(b"refuted", b"proved", 1),
        lambda data: data.replace(b'"of": "', b'"of": "0', 1),
        lambda data: data[:300] + bytes([data[300] ^ 1]) + data[301:],
        lambda data: b"\x80\x04N.",
        lambda data: b"[" * 100_000,
    ],
)
def test_an_entry_that_is_damaged_is_judged_anew_and_mended(
    here: Path, check: Checked, judged: list[str], spoil: Callable[[bytes], bytes]
) -> None:
    before = check("--cache", "stuck.yaml")
    (entry,) = entries(here / "cache")
    whole = entry.read_bytes()
    entry.write_bytes(spoil(whole))

    assert check("--cache", "stuck.yaml") == before
    assert judged == ["stuck.yaml"] * 2
    assert entry.read_bytes() == whole


def test_an_entry_of_another_schedule_is_judged_anew(
    here: Path, check: Checked, judged: list[str]
) -> None:
    before = check("--cache", "stuck.yaml")
    (stuck,) = entries(here / "cache")
    check("--cache", "legal.yaml")
    (legal,) = [each for each in entries(here / "cache") if each != stuck]
    stuck.write_bytes(legal.read_bytes())

    assert check("--cache", "stuck.yaml")[:2] == before[:2]
    assert judged == ["stuck.yaml", "legal.yaml", "stuck.yaml"]


def test_an_entry_whose_verdict_cannot_be_of_the_schedule_is_judged_anew(here: Path) -> None:
    stuck = document(STUCK)
    told = api.judge(stuck)
    cache = Cache(here / "cache")
    under, *others = told.transports
    violation, *_ = under.violations
    far = dataclasses.replace(violation, at=(violation.at[0]._replace(row=99),))
    wrong = dataclasses.replace(
        told, transports=(dataclasses.replace(under, violations=(far,)), *others)
    )

    assert cache.verdict(stuck, Asked(), lambda *_: wrong) is wrong
    assert cache.verdict(stuck, Asked(), lambda *_: told) is told
    assert cache.verdict(stuck, Asked(), lambda *_: wrong) == told
    assert cache.taken_up == 1


def test_only_the_user_can_read_and_write_what_is_kept(here: Path, check: Checked) -> None:
    check("--cache", "legal.yaml")
    (entry,) = entries(here / "cache")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (entry, *entry.parents)}

    assert modes[entry] == 0o600
    assert {modes[entry.parents[i]] for i in range(3)} == {0o700}
    assert (here / "cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_to_which_others_can_write_is_not_believed(
    here: Path, check: Checked, judged: list[str], mode: int
) -> None:
    check("--cache", "legal.yaml")
    (here / "cache").chmod(mode)

    assert check("--cache", "legal.yaml")[2].endswith("others can write to it\n")
    assert judged == ["legal.yaml"] * 2


def test_a_folder_of_somebody_else_is_not_believed(
    here: Path, check: Checked, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check("--cache", "legal.yaml")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)

    assert check("--cache", "legal.yaml")[2].endswith("it belongs to somebody else\n")
    assert judged == ["legal.yaml"] * 2


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc/nowhere", "a\0b"])
def test_a_folder_that_cannot_be_is_told_and_everything_is_judged(
    here: Path, check: Checked, folder: str
) -> None:
    (here / "file").write_text("")
    code, out, err = check("--cache", "--cache-dir", folder, "legal.yaml", "stuck.yaml")

    assert (code, out) == check("legal.yaml", "stuck.yaml")[:2]
    assert err.startswith("no verdict is kept in ")
    assert err.count("\n") == 1


def test_in_a_folder_that_cannot_be_written_what_is_there_is_taken_up(
    here: Path, check: Checked, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check("--cache", "legal.yaml")

    def refused(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(_cache, "_write", refused)
    err = check("--cache", "stuck.yaml", "legal.yaml")[2]
    assert judged == ["legal.yaml", "stuck.yaml"]
    assert "1 of 2 verdicts were reached before" in err
    assert err.endswith("no verdict is kept in " + f"{here / 'cache'}: Read-only file system\n")


def test_links_and_pipes_in_the_folder_are_not_read(
    here: Path, check: Checked, judged: list[str]
) -> None:
    check("--cache", "legal.yaml")
    (entry,) = entries(here / "cache")
    entry.rename(here / "elsewhere")
    entry.symlink_to(here / "elsewhere")
    check("--cache", "legal.yaml")
    entry.unlink()
    os.mkfifo(entry)
    check("--cache", "legal.yaml")

    assert judged == ["legal.yaml"] * 3


def test_an_interrupted_write_leaves_no_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Cache(here / "cache").verdict(document(LEGAL), Asked(), api.judge)
    left = [path.name for path in (here / "cache").rglob("*") if path.is_file()]
    assert left == ["CACHEDIR.TAG"]


def test_what_was_longest_not_used_is_removed_where_there_is_too_much(here: Path) -> None:
    folder = here / "cache"
    texts = [
        LEGAL.replace("microbatches: 1", f"microbatches: 1\nbounds: {{live: {n}}}")
        for n in range(1, 6)
    ]
    for text in texts:
        Cache(folder).verdict(document(text), Asked(), api.judge)
    sizes = {path: path.stat().st_size for path in entries(folder)}
    old = sorted(sizes)[0]
    for path in sizes:
        os.utime(path, (1000, 1000) if path == old else None)
    abandoned = old.parent / f".{old.stem}.{'0' * 16}"
    fresh = old.parent / f".{old.stem}.{'1' * 16}"
    for path in (abandoned, fresh):
        path.write_bytes(b"")
    os.utime(abandoned, (1000, 1000))

    cache = Cache(folder, most=sum(sizes.values()) - 1)
    cache.verdict(document(LEGAL), Asked(), api.judge)
    cache.close()
    left = entries(folder)
    assert old not in left
    assert 0 < sum(path.stat().st_size for path in left) < sum(sizes.values()) - 1
    assert (abandoned.exists(), fresh.exists()) == (False, True)


def test_many_at_once_keep_whole_entries_and_none_stumbles(here: Path) -> None:
    stuck = document(STUCK)
    told = api.judge(stuck)

    def one(number: int) -> FileVerdict:
        cache = Cache(here / "cache", most=number % 2)  # half of them remove everything at once
        found = cache.verdict(stuck, Asked(), lambda *_: told)
        cache.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(one, range(64))] == [told] * 64
    left = [path.name for path in (here / "cache").rglob("*") if path.is_file()]
    assert {Path(name).suffix for name in left} <= {".json", ".TAG"}


def test_taking_up_counts_as_use(here: Path) -> None:
    Cache(here / "cache").verdict(document(LEGAL), Asked(), api.judge)
    (entry,) = entries(here / "cache")
    os.utime(entry, (1000, 1000))
    Cache(here / "cache").verdict(document(LEGAL), Asked(), api.judge)

    assert time.time() - entry.stat().st_mtime < 1000


def test_a_verdict_that_is_too_long_is_not_kept(
    here: Path, check: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cache, "_LONGEST", 10)
    check("--cache", "legal.yaml")

    assert entries(here / "cache") == []


def test_cleaning_removes_verdicts_and_nothing_else(
    here: Path, check: Checked, capsys: pytest.CaptureFixture[str]
) -> None:
    check("--cache", "legal.yaml", "stuck.yaml")
    own = entries(here / "cache")[0].parent / "mine.json"
    own.write_text("")

    assert run(["cache", "clean"]) == 0
    assert capsys.readouterr().out == f"2 verdicts removed from {here / 'cache'}\n"
    assert [path for path in (here / "cache").rglob("*") if path.is_file()] == [own]
    assert run(["cache", "clean", "--cache-dir", str(here / "none")]) == 0
    assert capsys.readouterr().out.startswith("0 verdicts removed")
    assert not (here / "none").exists()


def test_the_folder_is_the_one_that_is_named_else_the_users(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["cache", "dir"]) == 0
    assert run(["cache", "dir", "--cache-dir", "x"]) == 0
    monkeypatch.delenv("PIPEPROOF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "xdg"))
    assert run(["cache", "dir"]) == 0

    said = [str(here / "cache"), "x", str(here / "xdg" / "pipeproof")]
    assert capsys.readouterr().out.splitlines() == said
