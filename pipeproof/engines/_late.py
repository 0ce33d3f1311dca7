"""Whether an event can happen after another one: asked by forbidding it until that has come."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from pipeproof.engines._order import HappensBefore
from pipeproof.engines._sweep import Run, run
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, either
from pipeproof.semantics.found import NO_EVENT, Finding, once_a_place

__all__ = ["Late"]

_WEAK = "with weak communicators not every execution was looked at"


class Late:
    """What happens too late in some execution of a model."""

    def __init__(self, order: HappensBefore) -> None:
        self._order = order
        self._model = order.model
        self._graph = order.graph
        self._pasts: dict[int, npt.NDArray[np.bool_]] = {}
        self._blocked: dict[int, npt.NDArray[np.bool_]] = {}

    @cached_property
    def _free(self) -> Run:
        """All that can happen where weak messages move whenever they can."""
        return self._without(NO_EVENT)

    @cached_property
    def _shown(self) -> Run:
        """All that can happen, weak messages as late as they may."""
        return run(self._model, self._graph) if len(self._model.weak) else self._free

    def _without(self, event: int) -> Run:
        never = self._graph.never.copy()
        if event != NO_EVENT:
            never[event] = True
        held = np.zeros_like(self._graph.held)
        return run(self._model, self._graph._replace(never=never, held=held))

    def late(self, found: list[Finding]) -> tuple[list[Finding], str]:
        """Return what can happen after what stands before it, and why some of it is open."""
        wrong, open_ = list[Finding](), ""
        for each in found:
            before = NO_EVENT if each.before is None else each.before
            if not self._can_be_late(each.event, before):
                continue
            if not len(self._model.weak) or self._is_shown(each.event, before):
                wrong.append(each)
            else:
                open_ = _WEAK
        return once_a_place(wrong), open_

    def _can_be_late(self, event: int, before: int) -> bool:
        happened = self._free.happened
        if not happened[event] or event == before:
            return False
        return before == NO_EVENT or bool(happened[before] and not self._comes_first(event, before))

    def _comes_first(self, event: int, before: int) -> bool:
        """Whether, in every execution, an event happens before the one that it must not follow."""
        if not self._graph.credits:
            if before not in self._pasts:
                self._pasts[before] = np.zeros(self._graph.size, np.bool_)
                self._pasts[before][self._order.ancestors.of(np.asarray([before]))] = True
            return bool(self._pasts[before][event])
        if event not in self._blocked:
            self._blocked[event] = self._without(event).happened
        return not self._blocked[event][before]

    def _is_shown(self, event: int, before: int) -> bool:
        level = self._shown.level
        first = -1 if before == NO_EVENT else int(level[before])
        there = before == NO_EVENT or first >= 0
        return there and int(level[event]) > first

    def trace(self, finding: Finding) -> IntArray:
        """Return an execution that ends with the event, and has what stands before it first."""
        event, before = finding.event, NO_EVENT if finding.before is None else finding.before
        if len(self._model.weak):
            return self._up_to(self._shown, event)
        first = np.zeros(0, np.int64)
        if before != NO_EVENT:
            first = self._up_to(self._without(event), before)
        last = self._up_to(self._free, event)
        return np.concatenate((first, last[~among(last, first)]))

    def _up_to(self, execution: Run, event: int) -> IntArray:
        last = np.asarray([event])
        if self._graph.credits or len(self._model.weak):
            events = np.flatnonzero(execution.happened & (execution.level < execution.level[event]))
            events = either(events, last)
        else:
            events = either(self._order.ancestors.of(last), last)
        return execution.order(events[events < self._model.events])
