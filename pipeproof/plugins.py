"""Members of a room are the files in it."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

__all__ = ["members", "names"]


def names(room: ModuleType) -> tuple[str, ...]:
    """Return the names of the members of the package `room`, in order, without importing them."""
    found = {path.stem for folder in room.__path__ for path in Path(folder).glob("*.py")}
    return tuple(sorted(name for name in found if not name.startswith("_")))


def members(room: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules of the package `room` in order of their names, imported.

    Raises:
        ImportError: a member does not import.
    """
    for name in names(room):
        yield importlib.import_module(f"{room.__name__}.{name}")
