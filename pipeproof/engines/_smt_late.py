"""Whether an event can happen after another one: an execution up to that without the event."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pipeproof.engines._smt_ask import (
    Execution,
    Executions,
    ExhaustedError,
    Solver,
    State,
    furthest,
)
from pipeproof.engines._smt_guards import Guards
from pipeproof.engines._smt_orders import SPENT, WEAK
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.found import NO_EVENT, Finding
from pipeproof.semantics.model import Model

__all__ = ["Late"]

_NOTHING = np.zeros(0, np.int64)


class Late:
    """What happens too late in some execution of a model; `open` says what is left open."""

    def __init__(self, model: Model, solver: Solver) -> None:
        self._model, self._solver = model, solver
        graph = model.happens_before
        self._guards = Guards(graph._replace(held=np.zeros_like(graph.held)))
        self.open: list[str] = []

    @cached_property
    def _free(self) -> Execution:
        """All that can happen where weak messages move whenever they can."""
        return furthest(self._solver, self._model, self._guards)

    @cached_property
    def _shown(self) -> Execution:
        """All that can happen, weak messages as late as they may."""
        return furthest(self._solver, self._model, Guards(self._model.happens_before))

    @cached_property
    def _executions(self) -> Executions:
        return self._solver.executions(self._guards, State.first(self._guards.graph))

    def late(self, found: Sequence[Finding]) -> list[tuple[Finding, IntArray]]:
        """Return what can happen after what stands before it, once a place, and an execution."""
        told = dict[tuple[object, ...], tuple[Finding, IntArray]]()
        for each in found:
            try:
                trace = self._decide(each)
            except ExhaustedError:
                self.open.append(f"{SPENT} before it is known what comes first")
                continue
            if trace is not None:
                told.setdefault(each.spots, (each, trace))
        return list(told.values())

    def _decide(self, each: Finding) -> IntArray | None:
        """Return an execution that shows it, None where there is none."""
        event, before = each.event, NO_EVENT if each.before is None else each.before
        moment = self._free.moment
        if moment[event] < 0 or event == before or (before != NO_EVENT and moment[before] < 0):
            return None
        first = _NOTHING
        if before != NO_EVENT:
            found = self._executions.ask([before], [event])
            if found is None:
                return None
            first = self._up_to(found, before)
        if len(self._model.weak):
            return self._late_as_shown(event, before)
        last = self._up_to(self._free, event)
        return np.concatenate((first, last[~among(last, first)]))

    def _up_to(self, found: Execution, event: int) -> IntArray:
        """Return what an event needs, and it, in order: thresholds as far as they were met."""
        last = np.asarray([event])
        timed = found if self._guards.thresholds else self._free
        needed = self._guards.needed(last, timed.moment)
        needed[event] = True
        trace = timed.sorted(needed)
        return trace[trace < self._model.events]

    def _late_as_shown(self, event: int, before: int) -> IntArray | None:
        moment = self._shown.moment
        first = -1 if before == NO_EVENT else int(moment[before])
        if (before != NO_EVENT and first < 0) or int(moment[event]) <= first:
            self.open.append(WEAK)
            return None
        trace = self._shown.sorted(np.arange(len(moment)) < self._model.events)
        return trace[: int(np.flatnonzero(trace == event)[0]) + 1]
