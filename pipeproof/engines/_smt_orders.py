"""Which events come before which, and how much is live, in the executions of one model."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pipeproof.engines._smt_ask import (
    Events,
    Execution,
    Executions,
    ExhaustedError,
    Solver,
    State,
    furthest,
)
from pipeproof.engines._smt_guards import Guards
from pipeproof.engines._smt_live import Moment
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import NO_EVENT
from pipeproof.semantics.model import Model

__all__ = ["LATE", "SPENT", "WEAK", "Known", "Most", "Ordered", "Orders"]

SPENT = "the solver's budget is used up"
LATE = "the solver's time limit is over"
"""What is said in the place of `SPENT` where it was the clock that ended it."""
WEAK = "with weak communicators not every execution was looked at"


class Ordered(NamedTuple):
    """Whether a pair is ordered, or why that is `left` open; an execution in which it is not.

    Without one the furthest execution shows it, as far as it is needed.
    """

    ordered: bool
    left: str = ""
    trace: IntArray | None = None


class Most(NamedTuple):
    """The most that is live where holds start, if more than allowed, and an execution."""

    weight: int
    left: str = ""
    trace: IntArray | None = None


@dataclass(slots=True)
class Known:
    """What is known of a model before anything is asked of it.

    `complete`: everything happens; `reached`: in the happens-before order, too; `ordered` and
    `light` name the relations whose pairs are all ordered, and the measures within their bounds.
    """

    complete: bool = False
    reached: bool = False
    ordered: set[str] = field(default_factory=set)
    light: set[str] = field(default_factory=set)


class Orders:
    """Asks for executions of a model; each question once, and nothing that is `known`."""

    def __init__(self, model: Model, solver: Solver) -> None:
        self.model = model
        self.known = Known()
        self.guards = Guards(model.happens_before)
        self._solver = solver
        self._pairs: dict[tuple[int, int], Ordered] = {}
        self._last: dict[int, Execution] = {}
        self._stretches: dict[int, Executions] = {}

    @cached_property
    def progress(self) -> Execution | None:
        """The furthest execution; None if it could not be found."""
        return self._furthest(Guards(self.model.progress))

    @cached_property
    def happening(self) -> Events | None:
        """Which events happen, gates left out; None if that could not be found."""
        if self.known.complete:
            return np.ones(self.model.events, np.bool_)
        run = self.progress
        return None if run is None else run.happened[: self.model.events]

    @cached_property
    def furthest(self) -> Execution | None:
        """The furthest execution of the happens-before order; None if it could not be found."""
        if self.model.happens_before is self.model.progress:
            return self.progress
        return self._furthest(self.guards)

    def _furthest(self, guards: Guards) -> Execution | None:
        try:
            return furthest(self._solver, self.model, guards)
        except ExhaustedError:
            return None

    @cached_property
    def _free(self) -> Executions:
        """All executions, and with weak messages more: there they move as they like."""
        if not self.guards.thresholds:
            return self._paths
        return self._solver.executions(self.guards, State.first(self.guards.graph))

    @cached_property
    def _paths(self) -> Executions:
        """What guards alone allow, without thresholds, whether or not it can happen."""
        never = np.zeros_like(self.guards.graph.never)
        plain = Guards(self.guards.graph._replace(credits=(), never=never))
        return self._solver.executions(plain, State.first(plain.graph))

    def _reached(self, event: int) -> bool:
        """Whether an event happens; where guards are just guards it need not be known."""
        if not self.guards.thresholds and not len(self.model.weak):
            return True
        return self.known.reached or bool(self._order.moment[event] >= 0)

    @property
    def _order(self) -> Execution:
        if self.furthest is None:
            raise ExhaustedError
        return self.furthest

    # pairs

    def pair(self, before: int, after: int) -> Ordered:
        """Return whether an event comes before one of a program in every execution.

        On one program that is seen; an event counts as before itself.
        """
        chain = self.model.frame.chain
        if before == NO_EVENT:
            return Ordered(ordered=False)
        if chain[before] == chain[after]:
            return Ordered(ordered=before <= after)
        if (before, after) not in self._pairs:
            try:
                self._pairs[before, after] = self._asked(before, after)
            except ExhaustedError:
                self._pairs[before, after] = Ordered(ordered=False, left=SPENT)
        return self._pairs[before, after]

    def _asked(self, before: int, after: int) -> Ordered:
        if not self._reached(after):
            return Ordered(ordered=self._without(self._paths, before, after) is None)
        found = self._without(self._free, before, after)
        if found is None:
            return Ordered(ordered=True)
        if len(self.model.weak):
            return self._in_stretch(before, after)
        return Ordered(ordered=False, trace=self._trace(found, after))

    def _without(self, executions: Executions, before: int, after: int) -> Execution | None:
        """Return an execution with `after` and without `before`: one already known, or a new."""
        known = self._last.get(after)
        if known is None or known.moment[before] >= 0:
            known = executions.ask([after], [before])
        if known is not None:
            self._last[after] = known
        return known

    def _in_stretch(self, before: int, after: int) -> Ordered:
        """Look where weak messages move as late as they can for a pair that is not ordered."""
        order = self._order
        if 0 <= order.stretch[before] < order.stretch[after]:
            return Ordered(ordered=False, left=WEAK)
        found = self._stretch(after).ask([after], [before])
        if found is None:
            return Ordered(ordered=False, left=WEAK)
        return Ordered(ordered=False, trace=self._trace(self._behind(found), after))

    # executions

    def _stretch(self, event: int) -> Executions:
        """Return the executions that reach an event when all stretches before its own are over."""
        order = self._order
        stretch = int(order.stretch[event])
        if stretch not in self._stretches:
            happened = order.happened & (order.stretch < stretch)
            state = State(happened, ~self.guards.graph.held & ~happened)
            self._stretches[stretch] = self._solver.executions(self.guards, state)
        return self._stretches[stretch]

    def _behind(self, found: Execution) -> Execution:
        """Return what was found in a stretch, behind all stretches before it."""
        order = self._order
        base, later = found.moment == 0, order.moment
        if self.guards.thresholds:
            later = found.moment + int(order.moment[base].max(initial=-1))
        own = int(order.stretch[base].max(initial=-1)) + 1
        return Execution(
            np.where(base, order.moment, np.where(found.moment > 0, later, -1)),
            np.where(base, order.stretch, own),
        )

    def leading(self, run: Execution, last: IntArray) -> IntArray:
        """Return what `last` needs in an execution, and `last`, in order, as far as it comes."""
        trace = run.sorted(self._needed(run, last))
        return trace[trace < self.model.events]

    def _needed(self, run: Execution, last: IntArray) -> Events:
        events = self.guards.needed(last, run.moment)
        events |= run.happened & (run.stretch < run.stretch[last].max(initial=-1))
        events[last] = True
        return events

    def _trace(self, run: Execution, last: int) -> IntArray | None:
        """Return an execution up to an event; None where the furthest one shows as much."""
        if not self.guards.thresholds and not len(self.model.weak):
            return None
        return self.leading(run, np.asarray([last]))

    def preceding(self, events: IntArray) -> int:
        """Count what happens before any of some events of programs, in every execution.

        Of thresholds what the budget leaves open is not counted.
        """
        before = self.guards.needed(events)
        run = self.furthest if self.guards.thresholds else None
        if run is not None:
            reached = events[run.happened[events]]
            maybe = np.flatnonzero(self._needed(run, reached) & ~before)
            for each in maybe[maybe < self.model.events].tolist():
                pairs = (self.pair(each, event) for event in reached.tolist() if event != each)
                before[each] = any(pair.ordered for pair in pairs)
        return int(np.sum(before[: self.model.events]))

    # memory

    def most(self, moment: Moment, bound: int) -> Most | None:
        """Return the most that is live at a moment, None if it is no more than a bound.

        Of a moment that is not reached it is what guards alone allow.

        Raises:
            ExhaustedError: the solver may do no more.
        """
        if moment.sure + sum(each.weight for each in moment.open) <= bound:
            return None
        if not moment.open:
            return Most(moment.sure)
        reached = self._reached(moment.event)
        found = self._heavier(self._free if reached else self._paths, moment, bound)
        if found is None or not reached or not len(self.model.weak):
            return found
        shown = self._heavier(self._stretch(moment.event), moment, bound, inside=True)
        return shown or Most(0, left=WEAK)

    def _heavier(
        self, executions: Executions, moment: Moment, bound: int, *, inside: bool = False
    ) -> Most | None:
        """Return the most that is live in any of some executions, None if nothing exceeds."""
        most = None
        while True:
            more = bound if most is None else most.weight
            found = executions.ask(
                [moment.event], live=moment.open, more=max(more - moment.sure, -1)
            )
            if found is None:
                return most
            if inside:
                found = self._behind(found)
            there = self._needed(found, np.asarray([moment.event]))
            live = (each for each in moment.open if not np.all(there[list(each.ends)]))
            weight = moment.sure + sum(each.weight for each in live)
            most = Most(weight, trace=self._trace(found, moment.event))
