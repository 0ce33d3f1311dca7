"""The executions of a view: where each box lies in them."""

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.reports._layout import Layout, layout
from pipeproof.reports._pack import Json, packed
from pipeproof.reports._scene import Scene
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision

__all__ = ["Layouts"]

_MOST = ((20_000, 8), (200_000, 2))  # up to so many operations, so many executions
_WIDEST = 2**30  # ticks; a page counts in 32 bits


class Layouts:
    """Executions of one view, each drawn once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._data: list[Json] = []
        self._known: dict[tuple[int, bytes], int] = {}
        self._most = next((n for size, n in _MOST if len(scene) <= size), 1)

    def data(self) -> list[Json]:
        """Return all of them."""
        return self._data

    def earliest(self, model: Model, decision: Decision) -> int | None:
        """Return the number of the execution in which all is early, None if it has no room."""
        return self._drawn(model, decision, None)

    def of(self, model: Model, decision: Decision, broken: Broken | None) -> tuple[int, bool, str]:
        """Return the number of an execution, whether a violation is shown by it, and a note."""
        if broken is not None and len(broken.trace):
            number = self._drawn(model, decision, broken)
            if number is not None:
                return number, True, ""
            return 0, False, "the execution that shows it is not drawn: another one is"
        number = self._drawn(model, decision, None)
        note = "no execution of its own is told of it: all is drawn as early as it can be"
        if number is None:
            note, number = "no execution of its own is told of it: another one is drawn", 0
        return number, False, note

    def _drawn(self, model: Model, decision: Decision, broken: Broken | None) -> int | None:
        trace = b"" if broken is None else broken.trace.tobytes()
        key = (id(model), trace)
        if key not in self._known:
            if len(self._data) >= self._most:
                return None
            self._known[key] = len(self._data)
            self._data.append(_data(layout(model, decision, broken), self._scene.rows))
        return self._known[key]


def _data(found: Layout, rows: IntArray) -> Json:
    start, end = found.start[rows], found.end[rows]
    frontier = found.frontier
    span = int(max(end.max(initial=0), 0 if frontier is None else frontier, 1))
    part = -(-span // _WIDEST)
    if part > 1:
        start, end, span = start // part, end // part, span // part
        frontier = None if frontier is None else frontier // part
    return {
        "axis": found.axis,
        "start": packed(np.asarray(start, np.int64), differences=True),
        "end": packed(np.asarray(end, np.int64), differences=True),
        "happened": packed(np.asarray(found.happened[rows], np.int64)),
        "frontier": frontier,
        "span": span,
        "ticks_per_unit": found.unit / part if part > 1 else found.unit,
    }
