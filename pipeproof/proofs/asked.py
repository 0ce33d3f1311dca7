"""What is asked of a schedule."""

from dataclasses import dataclass

from pipeproof.engines import graph

__all__ = ["ALL", "Asked"]

ALL = "all"
"""The name under which every engine is asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a schedule; empty fields leave it to the schedule.

    `select` and `ignore` are rule codes or prefixes of them. `live` asks for the most that is live
    at once, which is told anyway where the file gives sizes.
    """

    transports: tuple[str, ...] = ()
    profile: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    engine: str = graph.NAME
    live: bool = False
