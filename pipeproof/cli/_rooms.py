"""Members of a room by their file names, without importing them."""

from types import ModuleType

import click

from pipeproof import plugins

__all__ = ["Member", "names"]


def names(room: ModuleType) -> list[str]:
    """Return the members of `room` in order, without `engines.engine`, which says what one is."""
    own = room.__name__.rpartition(".")[2].removesuffix("s")
    return [name for name in plugins.names(room) if name != own]


class Member(click.Choice[str]):
    """An option whose values are the members of a room."""

    def __init__(self, room: ModuleType) -> None:
        super().__init__(names(room))
