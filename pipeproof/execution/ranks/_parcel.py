"""What a rank is given to play, and how it travels to its process."""

import copyreg
import io
import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from pipeproof.execution._illegal import Fault
from pipeproof.execution.witness import Witness
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match

__all__ = ["END", "OVER", "Pace", "Part", "Seen", "Story", "packed", "unpacked"]

END = -1
"""Where a rank stands that waits at the end of its program."""
OVER = -2
"""Where a rank stands that has come through, and whose messages may still be under way."""


class Pace(NamedTuple):
    """How a run goes on in time.

    `late` lets what a send takes leave as late as it may, and reductions read at their end. `slow`
    is the rank that lingers before each of its instructions, -1 for none, for `pause` seconds.
    """

    late: bool = False
    slow: int = -1
    pause: float = 0.03


@dataclass(frozen=True, slots=True)
class Part:
    """A schedule as run, and how one rank plays it.

    `waits` holds for each moment the rows that are complete then. `strays` are sends that nobody
    receives: their destinations look for them at the end. With `whole` everybody in a collective
    waits for everybody, as deadlock is judged.
    """

    run: AsRun
    match: Match
    model: Witness
    waits: Mapping[int, tuple[int, ...]]
    buffered: bool
    pace: Pace
    strays: tuple[int, ...] = ()
    whole: bool = False


class Seen(NamedTuple):
    """What a rank met: words, the fault and its rows where it is illegal, whether numbers show it.

    `stages` are those at whose gradients something is wrong.
    """

    text: str
    fault: Fault | None
    rows: tuple[int, ...]
    stages: tuple[int, ...]
    visible: bool


@dataclass(frozen=True, slots=True)
class Story:
    """What a rank tells: where it stands, and what it has met so far.

    `left` are messages that are still under way at its end, `found` those that one more receive
    found. `dirty` says that something is left in gloo, so that the set is of no more use. `moments`
    holds each instruction with when it began and ended, in nanoseconds of the machine's clock.
    """

    at: int | None
    seen: tuple[Seen, ...] = ()
    compared: int = 0
    ratio: float = 0.0
    left: tuple[int, ...] = ()
    found: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    dirty: bool = False
    moments: tuple[tuple[int, int, int], ...] = ()

    def line(self) -> str:
        """Return it as one line, for a report."""
        seen = [
            [each.text, each.fault and each.fault.name, each.rows, each.stages, each.visible]
            for each in self.seen
        ]
        return json.dumps([self.at, seen, self.left])

    @classmethod
    def read(cls, line: int | str | None) -> "Story":
        """Read what was reported last, which may be nothing."""
        if not isinstance(line, str):
            return cls(line)
        at, seen, left = json.loads(line)
        met = (
            Seen(text, Fault[name] if name else None, tuple(rows), tuple(stages), visible)
            for text, name, rows, stages, visible in seen
        )
        return cls(at, tuple(met), left=tuple(left))


_Plain = dict[object, object]
_Making = Callable[[_Plain], "MappingProxyType[object, object]"]


def _read_only(content: _Plain) -> "MappingProxyType[object, object]":
    return MappingProxyType(content)


def _reduced(view: "MappingProxyType[object, object]") -> "tuple[_Making, tuple[_Plain]]":
    return _read_only, (dict(view),)


def packed(part: Part) -> bytes:
    """Return what a rank is given as bytes."""
    into = io.BytesIO()
    pickler = pickle.Pickler(into)
    pickler.dispatch_table = copyreg.dispatch_table.copy()
    pickler.dispatch_table[MappingProxyType] = _reduced
    pickler.dump(part)
    return into.getvalue()


def unpacked(sent: bytes) -> Part:
    """Return what a rank was given."""
    part: Part = pickle.loads(sent)  # noqa: S301  our own parent
    return part
