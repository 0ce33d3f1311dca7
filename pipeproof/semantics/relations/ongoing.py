"""Gradients that are used while a reduction of them may still run.

A REDUCE, NORM or TIE with `h=` only starts: nothing but a wait on its own rank says that it has
ended there, so it may run, in some execution, up to that moment and until then only.
"""

from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.sets import either
from pipeproof.semantics.found import Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._windows import param_of

__all__ = ["reduction_overwritten", "reduction_read"]

_STARTED = (Kind.REDUCE, Kind.NORM, Kind.TIE)
_READERS = (Kind.STEP, Kind.SCALE, *_STARTED)
_WRITERS = (Kind.B, Kind.W, Kind.ZERO)
_FOREVER = 2**62


class _Running(NamedTuple):
    """A reduction that may run up to a moment of its rank."""

    row: int
    name: str
    until: int


def reduction_read(frame: Frame) -> Findings:
    """Nothing reads or scales a gradient while a reduction of it may run."""
    return _meanwhile(frame, _READERS, "reads")


def reduction_overwritten(frame: Frame) -> Findings:
    """Nothing adds to a gradient, clears or overwrites it while a reduction of it may run."""
    return _meanwhile(frame, _WRITERS, "changes")


def _meanwhile(frame: Frame, users: tuple[Kind, ...], does: str) -> Findings:
    ops = frame.ops
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    started = np.flatnonzero(ops.is_kind(*_STARTED) & (ops.handle >= 0) & staged)
    if not len(started):
        return Findings(0)
    stages = np.zeros(frame.run.schedule.stages + 1, np.bool_)
    stages[ops.stage[started]] = True
    using = staged & ops.is_kind(*users) & stages[np.where(staged, ops.stage, -1)]
    users_at = set(np.flatnonzero(using).tolist())
    rows = either(np.flatnonzero(using), started)
    found = []
    running: dict[tuple[int, int], list[_Running]] = {}
    for row, start in zip(rows.tolist(), frame.start(rows).tolist(), strict=True):
        key = (int(ops.rank[row]), int(ops.stage[row]))
        name = param_of(frame, row)
        open_ = running[key] = [each for each in running.get(key, []) if each.until > start]
        if row in users_at:
            met = next((each for each in open_ if not name or each.name in ("", name)), None)
            if met is not None:
                why = f"{does} the gradient while {frame.text(met.row)} may still run"
                found.append(finding(frame, row, why=why))
        if ops.kind[row] in _STARTED and ops.handle[row] >= 0:
            moment = int(frame.awaited[row])
            open_.append(_Running(row, name, moment if moment >= 0 else _FOREVER))
    return Findings(len(users_at), found)
