"""Files that are there as a whole, or as they were before."""

import os
import stat
from pathlib import Path

import click
import pytest

from pipeproof.cli._output import emit, save


def test_a_file_is_written_anew_with_the_rights_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    emit("one\n", str(path))
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    emit("two\n", str(path))

    assert path.read_bytes() == b"two\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_what_fails_half_way_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    emit("one\n", str(path))

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        emit("two\n", str(path))
    with pytest.raises(KeyboardInterrupt):
        emit("two\n", str(tmp_path / "b.json"))

    assert path.read_bytes() == b"one\n"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_a_link_stays_one_and_a_device_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    path, far = tmp_path / "a.json", tmp_path / "far" / "b.json"
    path.symlink_to(far)
    emit("one\n", str(path))
    emit("two\n", str(path))
    assert path.is_symlink()
    assert far.read_bytes() == b"two\n"

    twin = tmp_path / "twin.json"
    twin.hardlink_to(far)
    emit("three\n", str(path))
    assert twin.read_bytes() == b"three\n"

    emit("four\n", os.devnull)
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize("name", ["", "a\0b", "no/such/a.json", ".", "a.json/b"])
def test_a_path_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_bytes(b"one")
    with pytest.raises(click.FileError):
        save(b"two", name)
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
