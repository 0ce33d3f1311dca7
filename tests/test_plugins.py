"""A room's members are the files in it."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from pipeproof.plugins import members


def room(folder: Path, **files: str) -> ModuleType:
    """A package of the given files, under a name of its own."""
    made = ModuleType(folder.name)
    made.__path__ = [str(folder)]
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content, encoding="utf-8")
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def test_members_come_in_order_of_their_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = room(folder, b="NUMBER = 2", a="NUMBER = 1")
    monkeypatch.setitem(sys.modules, made.__name__, made)

    assert [module.NUMBER for module in members(made)] == [1, 2]


def test_a_private_file_is_no_member(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = room(folder, _private="raise ValueError", open="")
    monkeypatch.setitem(sys.modules, made.__name__, made)

    assert [module.__name__ for module in members(made)] == [f"{made.__name__}.open"]


def test_a_member_that_does_not_import_is_not_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = room(folder, broken="import a_module_that_is_not_there")
    monkeypatch.setitem(sys.modules, made.__name__, made)

    with pytest.raises(ImportError, match="a_module_that_is_not_there"):
        list(members(made))


def test_an_empty_room_has_no_members(folder: Path) -> None:
    assert list(members(room(folder))) == []
