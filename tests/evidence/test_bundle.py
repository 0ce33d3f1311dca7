"""A bundle stands there whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from pipeproof.cli._exits import TerminatedError
from pipeproof.errors import ParseError
from pipeproof.evidence.bundle import drafting
from pipeproof.evidence.manifest import SUMS


def test_what_is_drafted_stands_there_when_it_is_done_and_nothing_else(tmp_path: Path) -> None:
    with drafting(str(tmp_path / "deep" / "b")) as (draft, logs):
        draft.put("a/b.txt", b"x")
        (logs / "out").write_bytes(b"log")
        assert not (tmp_path / "deep" / "b").exists()

    assert (tmp_path / "deep" / "b" / "a" / "b.txt").read_bytes() == b"x"
    assert [each.name for each in (tmp_path / "deep").iterdir()] == ["b"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TerminatedError, RuntimeError])
def test_whatever_ends_it_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def drafted() -> None:
        with drafting(str(tmp_path / "b")) as (draft, _):
            draft.put("a.txt", b"x")
            raise error

    with pytest.raises(error):
        drafted()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_words_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)

    with (
        pytest.raises(ParseError, match=r"b:1:1: it cannot be written .No space left"),
        drafting(str(tmp_path / "b")) as (draft, _),
    ):
        draft.put("a.txt", b"x")
    assert list(tmp_path.iterdir()) == []


def test_what_stands_there_already_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("b", "link"):
        with (
            pytest.raises(ParseError, match="something stands there already"),
            drafting(str(tmp_path / name)),
        ):
            pass

    assert (tmp_path / "b").read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["b", "link"]


def test_what_came_there_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    def drafted() -> None:
        with drafting(str(tmp_path / "b")) as (draft, _):
            draft.put("a.txt", b"x")
            (tmp_path / "b").write_text("mine")

    with pytest.raises(ParseError, match="something stands there already"):
        drafted()
    assert [each.name for each in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("output", ["/proc/b", "/dev/null/b", "a\0b", "x" * 300])
def test_where_nothing_can_be_written_it_is_said(output: str) -> None:
    with pytest.raises(ParseError), drafting(output) as (draft, _):
        draft.put("a.txt", b"x")


def test_it_is_sealed_with_a_sum_of_every_file(tmp_path: Path) -> None:
    with drafting(str(tmp_path / "b")) as (draft, _):
        draft.put("a.txt", b"x")
        draft.seal({"schema": "s"})

    lines = (tmp_path / "b" / SUMS).read_text().splitlines()
    assert [line[66:] for line in lines] == ["a.txt", "manifest.json"]
