"""What a broken rule costs, and an execution that shows it."""

from typing import NamedTuple

import numpy as np

from pipeproof.engines._smt_ask import Execution
from pipeproof.engines._smt_orders import Orders
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Finding
from pipeproof.semantics.logic import Acyclic, Finally, NotAfter, Rule
from pipeproof.semantics.relations.storage import held_back
from pipeproof.verdict.decision import Broken

__all__ = ["Found", "broken"]

_NO_PLACE = 2**62
_TRACE_EVENTS = 200_000  # all traces of a decision together; the first of each rule has one anyway
_NOTHING = np.zeros(0, np.int64)


class Found(NamedTuple):
    """A finding of a rule, and an execution that shows it where the furthest one does not."""

    rule: Rule
    finding: Finding
    trace: IntArray | None = None


class _Showing:
    """Shows what is broken in one model."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.model = orders.model
        self._costs: dict[tuple[int, ...], int] = {}
        self._left = _TRACE_EVENTS
        self._shown: set[str] = set()

    def cost(self, finding: Finding) -> int:
        """Count the events before the places of a finding in every execution."""
        starts = _starts(finding)
        if not len(starts):
            return _NO_PLACE
        key = tuple(starts.tolist())
        if key not in self._costs:
            self._costs[key] = self.orders.preceding(starts)
        return self._costs[key]

    def show(self, found: Found) -> Broken:
        rule, finding = found.rule, found.finding
        run = self.orders.progress
        trace, reached = _NOTHING, False
        if found.trace is not None and isinstance(rule.axiom, NotAfter):
            return Broken(rule, finding, self.cost(finding), found.trace, reached=True)
        if run is not None:
            reached = self._reached(found, run)
            if len(finding.spots) and (self._left > 0 or rule.code not in self._shown):
                trace = self._trace(found, run, reached=reached)
                self._shown.add(rule.code)
                self._left -= len(trace)
        return Broken(rule, finding, self.cost(finding), trace, reached)

    def _reached(self, found: Found, run: Execution) -> bool:
        there, finding = run.happened, found.finding
        held = held_back(self.model.frame, there) if isinstance(found.rule.axiom, Acyclic) else {}
        places = all(bool(there[each]) or each in held for each in _starts(finding).tolist())
        return places and (finding.event < 0 or bool(there[finding.event]))

    def _trace(self, found: Found, run: Execution, *, reached: bool) -> IntArray:
        if isinstance(found.rule.axiom, Acyclic | Finally):
            return run.sorted(np.arange(len(run.moment)) < self.model.events)
        if found.trace is not None and reached:
            return found.trace
        event = found.finding.event
        shown = event >= 0 and run.moment[event] >= 0
        last = np.asarray([event]) if shown else _starts(found.finding)
        if not len(self.model.weak):
            return self.orders.leading(run, last)
        order = self.orders.furthest
        if order is None:
            return _NOTHING
        trace = self.orders.leading(order, last[order.happened[last] & run.happened[last]])
        beyond = np.flatnonzero(~run.happened[trace])
        return trace[: beyond[0]] if len(beyond) else trace


def broken(orders: Orders, found: list[Found]) -> tuple[Broken, ...]:
    """Return all that is broken with what shows it, what needs the fewest events first."""
    showing = _Showing(orders)

    def key(each: Found) -> tuple[int, str, list[tuple[int, int]], str]:
        places = [orders.model.frame.place(spot) for spot in each.finding.spots]
        return showing.cost(each.finding), each.rule.code, places, str(each.finding.facts)

    return tuple(showing.show(each) for each in sorted(found, key=key))


def _starts(finding: Finding) -> IntArray:
    return np.asarray(sorted({spot.event for spot in finding.spots}), np.int64)
