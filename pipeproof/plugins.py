"""Members of a room are the files in it."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

__all__ = ["members"]


def members(room: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules of the package `room` in order of their names, imported.

    Raises:
        ImportError: a member does not import.
    """
    for found in sorted(pkgutil.iter_modules(room.__path__), key=lambda member: member.name):
        if not found.name.startswith("_"):
            yield importlib.import_module(f"{room.__name__}.{found.name}")
