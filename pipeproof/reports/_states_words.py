"""Words and tables that the parts of a state share."""

from collections.abc import Iterable
from zlib import crc32

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.reports._worded import worded
from pipeproof.semantics.frame import Frame

__all__ = ["by_event", "listed", "over", "short", "staged"]

_LONGEST = 80
_MOST = 6


def short(text: str) -> str:
    """Return text from a file, on one line and not too long; different texts stay different."""
    if len(text) <= _LONGEST:
        return worded(text)
    return f"{worded(text[:_LONGEST])}… ({len(text)} characters, {crc32(text.encode()):08x})"


def listed(words: Iterable[str], count: int, most: int = _MOST) -> str:
    """Return the first of `count` words, and how many more there are."""
    found = [word for word, _ in zip(words, range(most), strict=False)]
    rest = count - len(found)
    return ", ".join(found) + (f" and {rest} more" if rest > 0 else "")


def by_event(events: IntArray, of: IntArray) -> dict[int, list[int]]:
    """Return for each event the numbers `of` what it concerns, in their order."""
    order = np.argsort(events, kind="stable")
    keys, numbers = events[order], of[order].tolist()
    first = np.flatnonzero(np.diff(keys, prepend=-1) != 0)
    bounds = [*first.tolist(), len(keys)]
    return {
        event: numbers[bounds[n] : bounds[n + 1]] for n, event in enumerate(keys[first].tolist())
    }


def over(frame: Frame, rows: IntArray) -> IntArray:
    """Return when each row is over: its end, or the WAIT for the handle that it started under."""
    ended = frame.done(rows)
    waited = frame.awaited[rows]
    return np.where((frame.ops.handle[rows] >= 0) & (waited >= 0), waited, ended)


def staged(frame: Frame, *kinds: Kind) -> IntArray:
    """Return the rows of `kinds` of stages that live on their rank."""
    ops, stages = frame.ops, frame.run.schedule.stages
    known = (ops.stage >= 0) & (ops.stage < stages)
    home = np.asarray((*frame.run.placement, -1))[np.where(known, ops.stage, -1)]
    return np.flatnonzero(ops.is_kind(*kinds) & known & (home == ops.rank))
