"""How long operations take, exactly: the key `costs` of a file."""

import re
from collections.abc import Mapping
from math import gcd
from types import MappingProxyType
from typing import NamedTuple

from pipeproof.ir.schedule import Plain, Schedule

__all__ = ["DEFAULT", "Costs", "costs_of", "read_time", "time_text"]

DEFAULT: Mapping[str, int] = MappingProxyType(
    {"F": 1, "B": 2, "I": 1, "W": 1, "R": 1, "L": 0, "comm": 0}
)
"""What is taken where a file says nothing, in units of time."""

_UNIT = 10**9  # the language writes nine decimals
_TIME = re.compile(r"(\d+)(?:\.(\d{1,9}))?")


class Costs(NamedTuple):
    """The time of each kind of operation, `F B I W R L comm`, a whole number of ticks a stage.

    `unit` ticks make a unit of time.
    """

    unit: int
    ticks: Mapping[str, tuple[int, ...]]

    def of(self, kind: str, stage: int) -> int:
        """Return what a kind of operation takes on a stage, in ticks; none if there is no such."""
        each = self.ticks[kind]
        return each[stage] if 0 <= stage < len(each) else 0

    @property
    def uniform(self) -> bool:
        """Whether every stage takes as long as every other."""
        return all(len(set(each)) <= 1 for each in self.ticks.values())


def costs_of(schedule: Schedule) -> Costs:
    """Return what the operations of a schedule take, by its key `costs` and the defaults."""
    said = schedule.described.get("costs")
    told = said if isinstance(said, Mapping) else {}
    stages = max(schedule.stages, 1)
    times = {kind: _times(told.get(kind, str(DEFAULT[kind])), stages) for kind in DEFAULT}
    common = gcd(_UNIT, *(tick for each in times.values() for tick in each))
    ticks = {kind: tuple(tick // common for tick in each) for kind, each in times.items()}
    return Costs(_UNIT // common, MappingProxyType(ticks))


def read_time(text: str) -> int:
    """Return the time that `text` writes, as `1` or `0.5`, in parts of a unit (10^9).

    Raises:
        ValueError: `text` is no time.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        message = f"{text!r} is no time"
        raise ValueError(message)
    return int(found[1]) * _UNIT + int((found[2] or "").ljust(9, "0"))


def time_text(ticks: int, unit: int) -> str:
    """Return a time in units as the language writes it: `7`, `0.5`; exactly."""
    whole, part = divmod(ticks, unit)
    decimals = str(part * _UNIT // unit).rjust(9, "0").rstrip("0")
    return f"{whole}.{decimals}" if decimals else str(whole)


def _times(said: Plain, stages: int) -> tuple[int, ...]:
    if isinstance(said, tuple):
        return tuple(read_time(str(each)) for each in said)
    return (read_time(str(said)),) * stages
