"""All outcomes of choices asked at once: what no outcome breaks is decided by one question."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pipeproof.engines._smt_ask import Executions, Solver, State
from pipeproof.engines._smt_guards import Guards, number_of_guards
from pipeproof.engines._smt_live import Moment, moments
from pipeproof.engines._smt_orders import Known
from pipeproof.engines._smt_rules import Decider
from pipeproof.engines._smt_together import Script, Together, Within, weight
from pipeproof.semantics.choices import Beside, Joint, Settled
from pipeproof.semantics.found import NO_EVENT
from pipeproof.semantics.logic import All, AtMost, Axiom, Enforced, Rel, Rule
from pipeproof.verdict.decision import Decision

__all__ = ["AtOnce", "Scripts", "batches"]

_TOGETHER = 4  # times the guards of one schedule, for outcomes that are asked together

Bools = npt.NDArray[np.bool_]


class Scripts(Solver, Protocol):
    """What finds executions, and makes scripts, each with formulas of its own."""

    def script(self) -> Script:
        """Return an empty one."""


class _View:
    """Finds executions of one outcome among those of all."""

    def __init__(self, all_: "AtOnce", outcome: int) -> None:
        self._all = all_
        self._outcome = outcome

    def executions(self, guards: Guards, state: State, *, closed: bool = False) -> Executions:
        """Return the executions from a state on; with `closed` only the furthest."""
        fresh = bool(np.all(state.allowed)) and not np.any(state.happened)
        together = self._together(guards, closed=closed) if fresh else None
        if together is None:
            return self._all.scripts.executions(guards, state, closed=closed)
        return Within(together, self._outcome)

    def _together(self, guards: Guards, *, closed: bool) -> Together | None:
        """Return what has the executions of all outcomes, None for guards that it lacks."""
        model, graph = self._all.models[self._outcome], guards.graph
        if closed and graph is model.progress:
            return self._all.progress
        if graph is model.happens_before and (closed or guards.thresholds):
            return self._all.order if closed else self._all.free
        plain = graph.before is model.happens_before.before and not np.any(graph.never)
        return self._all.paths if plain and not closed and not graph.credits else None


class AtOnce:
    """Decides rules of all outcomes of a schedule, none with weak communicators."""

    def __init__(self, settled: Sequence[Settled], scripts: Scripts) -> None:
        self._beside = Beside(settled)
        self.scripts = scripts
        self.models = self._beside.models
        self._deciders = [Decider(each, _View(self, k)) for k, each in enumerate(self.models)]
        self._known = [each.orders.known for each in self._deciders]

    # executions

    def _together(self, joint: Joint, *, closed: bool = False) -> Together:
        return Together(self.scripts.script(), joint, self._beside.picked, closed=closed)

    @cached_property
    def progress(self) -> Together:
        """The furthest execution of each outcome."""
        return self._together(self._beside.joint(lambda model: model.progress), closed=True)

    @cached_property
    def order(self) -> Together:
        """The furthest execution of the happens-before order of each outcome."""
        if self._alike:
            return self.progress
        return self._together(self._ordered, closed=True)

    @property
    def _alike(self) -> bool:
        return all(each.happens_before is each.progress for each in self.models)

    @cached_property
    def _ordered(self) -> Joint:
        return self._beside.joint(lambda model: model.happens_before)

    @cached_property
    def free(self) -> Together:
        """All executions of each outcome."""
        return self._together(self._ordered)

    @cached_property
    def paths(self) -> Together:
        """What guards alone allow in each outcome, without thresholds."""
        never = np.zeros_like(self._ordered.never)
        return self._together(self._ordered._replace(counted=(), never=never))

    # what holds of whole outcomes

    def look(self, rules: Sequence[Rule]) -> None:
        """Ask of each rule which outcomes break it; of the others it is known from here on.

        Raises:
            ExhaustedError: the solver may do no more.
        """
        for k, known in enumerate(self._known):
            known.complete = k not in self._incomplete
            known.reached = k not in self._unreached
        for rule in rules:
            for axiom in _parts(rule.axiom):
                match axiom:
                    case Enforced(rel, _):
                        self._look_at_order(rel)
                    case AtMost(measure):
                        self._look_at_most(measure)
                    case _:
                        pass

    def decision(self, outcome: int, name: str, rules: tuple[Rule, ...]) -> Decision:
        """Return the decision of the engine `name` on one outcome."""
        return self._deciders[outcome].decision(name, rules)

    @cached_property
    def _incomplete(self) -> set[int]:
        """The outcomes in which not everything happens."""
        return set(self.progress.outcomes_with(self.progress.absent(self._beside.size)))

    @cached_property
    def _unreached(self) -> set[int]:
        """The same in the happens-before order, where it is asked for."""
        if self._alike:
            return self._incomplete
        if not self._ordered.counted:
            return set(range(len(self.models)))
        return set(self.order.outcomes_with(self.order.absent(self._beside.size)))

    def _is_free(self, outcome: int, event: int) -> bool:
        """Whether an event of an outcome is asked of all executions, not of guards alone."""
        orders = self._deciders[outcome].orders
        if not orders.guards.thresholds:
            return False
        if orders.known.reached:
            return True
        run = orders.furthest
        return run is not None and bool(run.moment[event] >= 0)

    def _look_at_order(self, rel: Rel) -> None:
        """Find the outcomes in which all pairs of a relation are ordered."""
        asked: dict[tuple[bool, int, int], Bools] = defaultdict(self._nowhere)
        broken: set[int] = set()
        for k, decider in enumerate(self._deciders):
            needs, chain = decider.needs(rel), self.models[k].frame.chain
            if np.any(needs.before == NO_EVENT):
                broken.add(k)
                continue
            one = chain[needs.before] == chain[needs.after]
            if np.any(one & (needs.before > needs.after)):
                broken.add(k)
                continue
            own = self._ordered.event[k]
            pairs = set(zip(needs.before[~one].tolist(), needs.after[~one].tolist(), strict=True))
            for before, after in pairs:
                asked[self._is_free(k, after), int(own[before]), int(own[after])][k] = True
        formulas: dict[bool, list[str]] = {}
        for (free, before, after), where in asked.items():
            formula = self._executions(free=free).unordered(before, after, where)
            formulas.setdefault(free, []).append(formula)
        broken |= self._with_any(formulas)
        self._tell(broken, lambda known: known.ordered, rel)

    def _look_at_most(self, measure: Rel) -> None:
        """Find the outcomes in which a measure stays within its bound."""
        asked: dict[tuple[bool, int, str], Bools] = defaultdict(self._nowhere)
        for k, model in enumerate(self.models):
            if not model.is_bounded(measure):
                continue
            holds = model.holds(measure)
            for moment in moments(model.frame, holds):
                left = (holds.bound or 0) - moment.sure
                if sum(each.weight for each in moment.open) > left:
                    asked[self._heavy(k, moment, left)][k] = True
        formulas: dict[bool, list[str]] = {}
        for (free, event, weighs), where in asked.items():
            formula = self._executions(free=free).heavier(event, weighs, where)
            formulas.setdefault(free, []).append(formula)
        broken = self._with_any(formulas)
        self._tell(broken, lambda known: known.light, measure)

    def _heavy(self, outcome: int, moment: Moment, left: int) -> tuple[bool, int, str]:
        """Return where it is asked whether more is live at a moment than is left, and how."""
        own = self._ordered.event[outcome]
        weighs = f"(> {weight(own, moment.open)} {left})"
        return self._is_free(outcome, moment.event), int(own[moment.event]), weighs

    def _nowhere(self) -> Bools:
        return np.zeros(len(self.models), np.bool_)

    def _executions(self, *, free: bool) -> Together:
        return self.free if free else self.paths

    def _with_any(self, formulas: dict[bool, list[str]]) -> set[int]:
        """Return the outcomes in which any of some formulas can hold."""
        found: set[int] = set()
        for free, each in formulas.items():
            found.update(self._executions(free=free).outcomes_with(f"(or false {' '.join(each)})"))
        return found

    def _tell(self, broken: set[int], names: Callable[[Known], set[str]], rel: Rel) -> None:
        for k, each in enumerate(self._known):
            if k not in broken:
                names(each).add(rel.name)


def batches(outcomes: Sequence[Settled], most: int) -> Iterator[list[Settled]]:
    """Yield some outcomes after others, each time as many as are asked together.

    One with weak communicators, or with more guards than `most`, is alone.
    """
    batch: list[Settled] = []
    left = 0
    for each in outcomes:
        guards = number_of_guards(each.model)
        alone = len(each.model.weak) > 0 or guards > most
        if batch and (alone or guards > left):
            yield batch
            batch = []
        left = -1 if alone else (left if batch else _TOGETHER * most) - guards
        batch.append(each)
    if batch:
        yield batch


def _parts(axiom: Axiom) -> Iterator[Axiom]:
    if isinstance(axiom, All):
        for each in axiom.axioms:
            yield from _parts(each)
    else:
        yield axiom
