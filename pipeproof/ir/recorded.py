"""What a runtime recorded: spans of time, each with a name, on a rank."""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["MICROSECOND", "Recorded", "Span", "micros_text"]

MICROSECOND = 10**9
"""Ticks in a microsecond; times are whole numbers of them."""


class Span(NamedTuple):
    """An operation of a rank as it was recorded, from `start` to `end`, in ticks.

    `name` is as recorded, without torch's `PP:`. `device` says that it is the time of an
    accelerator, not that of the host. `file` and `event` tell where it stands: the event with
    that number in the file's list.
    """

    rank: int
    name: str
    start: int
    end: int
    device: bool = False
    file: str = ""
    event: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """All spans of a trace, in order of its files and their events.

    `together` says that all ranks were recorded by one clock. `counted` says that its times are
    numbers of steps, `asynchronous` that an accelerator ran behind the host. `files` are the names
    of its files, `runs_on` what the recorder says of what ran.
    """

    spans: tuple[Span, ...]
    files: tuple[str, ...] = ()
    together: bool = False
    counted: bool = False
    asynchronous: bool = False
    runs_on: str = ""


def micros_text(ticks: int) -> str:
    """Return a time in microseconds, exactly, without zeros at its end."""
    sign, ticks = ("-", -ticks) if ticks < 0 else ("", ticks)
    whole, rest = divmod(ticks, MICROSECOND)
    return f"{sign}{whole}" + (f".{rest:09d}".rstrip("0") if rest else "")
