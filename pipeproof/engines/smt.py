"""Decide rules with a solver: an execution is an order of events that satisfies formulas.

Every event has a boolean, whether it happens, and a moment; every guard is an implication. What
can happen is asked of z3, which finds an execution or says that there is none. Exact, also with
thresholds, and meant for small schedules: to check other engines, and to explain.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

import numpy as np
import z3

from pipeproof.engines._smt_ask import Execution, ExhaustedError, Open, State, furthest
from pipeproof.engines._smt_guards import Guards, Threshold, number_of_guards
from pipeproof.engines._smt_moments import START, rooted
from pipeproof.engines._smt_orders import LATE, SPENT
from pipeproof.engines._smt_outcomes import AtOnce, batches
from pipeproof.engines._smt_rules import Decider
from pipeproof.engines._smt_together import Script
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision, added

__all__ = ["LIMITS", "NAME", "Explanation", "Limits", "decide", "decide_outcomes", "explain"]

NAME = "smt"
_NO_TIMEOUT = 2**32 - 1  # milliseconds, z3's word for none
_NAMES = re.compile(r"\b[cghqt]\d\w*")


class Limits(NamedTuple):
    """What the solver may do: steps of its own for one question and for all, and guards at most.

    A step is what z3 counts as its resource, the same on every machine; seconds are not.
    """

    question: int = 20_000_000
    total: int = 200_000_000
    guards: int = 200_000
    seconds: float = float("inf")


LIMITS = Limits()


class Explanation(NamedTuple):
    """Why an event comes before another in every execution.

    `ordered` is None where it is not known. Together `edges`, guards as `(before, after)`, and
    the credits of `sends` suffice, and none of them can be left out.
    """

    ordered: bool | None
    edges: tuple[tuple[int, int], ...] = ()
    sends: tuple[int, ...] = ()


class _Solver:
    """A z3 context of its own, so that the same questions have the same answers."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.context = z3.Context()
        self.exhausted = False
        self.late = False
        self.spent = 0
        self._until = time.monotonic() + limits.seconds

    def new(self) -> z3.Solver:
        solver = z3.SimpleSolver(ctx=self.context)
        solver.set("random_seed", 0)
        solver.set("ctrl_c", False)  # noqa: FBT003  so that an interrupt is Python's
        return solver

    def executions(self, guards: Guards, state: State, *, closed: bool = False) -> "_Executions":
        return _Executions(self, guards, state, closed=closed)

    def script(self) -> Script:
        return _Script(self)

    def check(self, solver: z3.Solver, literals: Sequence[z3.BoolRef]) -> bool:
        left = min(self.limits.question, self.limits.total - self.spent)
        seconds = self._until - time.monotonic()
        if left <= 0 or seconds <= 0:
            self._exhaust(late=left > 0)
        solver.set("rlimit", left)
        solver.set("timeout", int(min(max(1000 * seconds, 1), _NO_TIMEOUT)))
        found = solver.check(*literals)
        self.spent = max(self.spent, int(solver.statistics().get_key_value("rlimit count")))
        if found == z3.unknown:
            self._exhaust(late=time.monotonic() >= self._until)
        return bool(found == z3.sat)

    def _exhaust(self, *, late: bool) -> NoReturn:
        self.exhausted = True
        self.late |= late
        raise ExhaustedError


class _Script:
    """Formulas over names, in a solver of their own."""

    def __init__(self, asking: _Solver) -> None:
        self._asking = asking
        self._solver = asking.new()
        self._declared: set[str] = set()

    def add(self, clauses: Sequence[str]) -> None:
        clauses = [each for each in clauses if each != "true"]
        names = {name for each in clauses for name in _NAMES.findall(each)} - self._declared
        self._declared |= names
        lines = [f"(declare-const {n} {'Int' if n[0] == 't' else 'Bool'})" for n in sorted(names)]
        lines += [f"(assert {each})" for each in clauses]
        self._solver.from_string("\n".join(lines))

    def check(self, literals: Sequence[str]) -> bool:
        return self._asking.check(self._solver, [self._literal(each) for each in literals])

    def true(self, names: Sequence[str]) -> set[str]:
        model = self._solver.model()
        return {name for name in names if z3.is_true(model.eval(self._literal(name)))}

    def number(self, name: str) -> int:
        number = z3.Int(name, self._asking.context)
        return int(self._solver.model().eval(number, model_completion=True).as_long())

    def _literal(self, text: str) -> z3.BoolRef:
        positive = text.removeprefix("(not ").removesuffix(")")
        boolean = z3.Bool(positive, self._asking.context)
        return boolean if positive == text else z3.Not(boolean)


class _Executions:
    """The executions of a graph from a state on, as formulas.

    An event happens only if all that it waits for does, before it; moments keep a cycle from
    supporting itself. With `closed` it also happens if that does: then just one set of events is
    left, those of the furthest execution. Where guards are conjunctive and nothing is closed,
    moments are left out: what a set closed under guards holds can happen if anything of it can.
    A guard is one clause.
    """

    def __init__(
        self, solver: _Solver, guards: Guards, state: State, *, closed: bool, tracked: bool = False
    ) -> None:
        self._asking = solver
        self._guards = guards
        self._happened = state.happened
        self._open = state.allowed & ~state.happened
        self._timed = closed or tracked or bool(guards.thresholds)
        self._tracked = tracked
        self.tracks: dict[tuple[int, int], str] = {}
        self._solver = solver.new()
        self._roots = rooted(np.flatnonzero(self._open).tolist(), self._only) if self._timed else {}
        self._clauses: list[str] = []
        for event in np.flatnonzero(self._open).tolist():
            self._support(event)
            if closed:
                self._close(event)
        names = [*self._names(), *self.tracks.values()]
        moments = sorted({root for root, _ in self._roots.values()} - {START})
        declared = [f"(declare-const {name} Bool)" for name in names]
        declared += [f"(declare-const t{root} Int)" for root in moments]
        self._solver.from_string("\n".join([*declared, *self._clauses]))

    def _names(self) -> Iterator[str]:
        for event in np.flatnonzero(self._open & ~self._guards.graph.never).tolist():
            yield self._happens(event)

    def _happens(self, event: int) -> str:
        if self._open[event] and not self._guards.graph.never[event]:
            return f"h{event}"
        return "true" if self._happened[event] else "false"

    # moments

    def _only(self, event: int) -> int | None:
        """Return the one event that this one waits for, START for none, None for several."""
        waits = [each for each in self._guards.of(event) if self._open[each]]
        if self._tracked or len(waits) > 1 or event in self._guards.thresholds:
            return None
        return waits[0] if waits else START

    def _moment(self, event: int) -> str:
        root, offset = self._roots[event]
        if root == START:
            return str(offset)
        return f"(+ t{root} {offset})" if offset else f"t{root}"

    # guards

    def _support(self, event: int) -> None:
        """Demand that an event happens only after all that it waits for."""
        for each in self._guards.of(event):
            needed = self._happens(each)
            if self._timed and self._open[each] and self._roots[event][1] == 0:
                needed = f"(and {needed} (< {self._moment(each)} {self._moment(event)}))"
            self._demand(event, needed, (each, event))
        threshold = self._guards.thresholds.get(event)
        if threshold is not None:
            before = [self._before(each, event) for each in threshold.arrivals]
            self._demand(event, _enough(threshold, before), (event, event))

    def _demand(self, event: int, needed: str, label: tuple[int, int]) -> None:
        clause = f"(=> {self._happens(event)} {needed})"
        if self._tracked:
            self.tracks[label] = f"e{label[0]}.{label[1]}"
            clause = f"(=> {self.tracks[label]} {clause})"
        self._clauses.append(f"(assert {clause})")

    def _before(self, arrival: int, event: int) -> str:
        if not self._open[arrival]:
            return self._happens(arrival)
        order = f"(< {self._moment(arrival)} {self._moment(event)})"
        return f"(and {self._happens(arrival)} {order})"

    def _close(self, event: int) -> None:
        """Demand that an event happens if all that it waits for does."""
        if self._guards.graph.never[event]:
            return
        needed = [self._happens(each) for each in self._guards.of(event)]
        threshold = self._guards.thresholds.get(event)
        if threshold is not None:
            needed.append(_enough(threshold, [self._happens(a) for a in threshold.arrivals]))
        self._clauses.append(f"(assert (=> (and true {' '.join(needed)}) {self._happens(event)}))")

    # questions

    def ask(
        self,
        happen: Sequence[int] = (),
        absent: Sequence[int] = (),
        *,
        live: tuple[Open, ...] = (),
        more: int = -1,
    ) -> Execution | None:
        literals = [self._boolean(self._happens(each)) for each in happen]
        literals += [z3.Not(self._boolean(self._happens(each))) for each in absent]
        if not live:
            return self._read() if self._check(literals) else None
        self._solver.push()
        self._solver.add(z3.Sum([self._weight(each) for each in live]) > more)
        found = self._read() if self._check(literals) else None
        self._solver.pop()
        return found

    def order(
        self, before: int, after: int, labels: Iterable[tuple[int, int]]
    ) -> list[tuple[int, int]] | None:
        """Return which of some tracked guards order two events, None if they do not."""
        asked = [self._boolean(self._happens(after)), z3.Not(self._boolean(self._happens(before)))]
        if self._check([*asked, *(self._boolean(self.tracks[label]) for label in labels)]):
            return None
        core = {str(each) for each in self._solver.unsat_core()}
        return [label for label, track in sorted(self.tracks.items()) if track in core]

    def _boolean(self, name: str) -> z3.BoolRef:
        context = self._asking.context
        if name in {"true", "false"}:
            return z3.BoolVal(name == "true", context)
        return z3.Bool(name, context)

    def _check(self, literals: Sequence[z3.BoolRef]) -> bool:
        return self._asking.check(self._solver, literals)

    def _weight(self, hold: Open) -> z3.ArithRef:
        over = z3.And([self._boolean(self._happens(each)) for each in hold.ends])
        return z3.If(over, 0, z3.IntVal(hold.weight, self._asking.context))

    def _read(self) -> Execution:
        model = self._solver.model()
        moment = np.where(self._happened, 0, -1)
        able = np.flatnonzero(self._open & ~self._guards.graph.never).tolist()
        happens = [each for each in able if z3.is_true(model.eval(self._boolean(f"h{each}")))]
        if happens:
            when = [self._when(model, event) for event in happens]
            moment[happens] = np.asarray(when) - min(when) + 1
        return Execution(moment, np.zeros(len(moment), np.int64))

    def _when(self, model: z3.ModelRef, event: int) -> int:
        root, offset = self._roots.get(event, (START, 0))
        if root == START:
            return offset
        moment = z3.Int(f"t{root}", self._asking.context)
        return offset + int(model.eval(moment, model_completion=True).as_long())


def _enough(threshold: Threshold, before: list[str]) -> str:
    return f"((_ at-least {threshold.least}) {' '.join(before)})"


def decide(model: Model, rules: tuple[Rule, ...], limits: Limits = LIMITS) -> Decision:
    """Decide `rules` of a model for every interleaving, within `limits`.

    Returns:
        The instances of each rule, and all that breaks one, what needs the fewest events first.
        What the limits leave open is unknown.
    """
    guards = number_of_guards(model)
    if guards > limits.guards:
        why = f"{guards} guards, more than the {limits.guards} that are given to the solver"
        unknown = dict.fromkeys((rule.code for rule in rules), why)
        return Decision(NAME, dict.fromkeys(unknown, 0), (), complete=False, unknown=unknown)
    solver = _Solver(limits)
    found = Decider(model, solver).decision(NAME, rules)
    over = LATE if solver.late else SPENT
    unknown = {code: why.replace(SPENT, over) for code, why in found.unknown.items()}
    return found._replace(unknown=unknown, counts={"steps": solver.spent})


def decide_outcomes(
    outcomes: Sequence[Settled], rules: tuple[Rule, ...], limits: Limits = LIMITS
) -> tuple[Decision, ...]:
    """Decide `rules` in every outcome of choices as `decide` does in one, the outcomes at once.

    A choice is a boolean an alternative. Of each rule it is asked whether any outcome has an
    execution that breaks it; only those that have one are looked at by themselves. Outcomes with
    weak communicators, and what the limits leave open together, are decided one by one.
    """
    found: list[Decision] = []
    for some in batches(outcomes, limits.guards):
        found += _decided_at_once(some, rules, limits)
    return tuple(found)


def _decided_at_once(
    outcomes: Sequence[Settled], rules: tuple[Rule, ...], limits: Limits
) -> Iterator[Decision]:
    solver = _Solver(limits)
    together = AtOnce(outcomes, solver) if len(outcomes) > 1 else None
    if together is not None:
        with suppress(ExhaustedError):
            together.look(rules)
    before = 0
    for number, each in enumerate(outcomes):
        decision = None
        if together is not None and not solver.exhausted:
            decision = together.decision(number, NAME, rules)
        if decision is None or solver.exhausted:
            decision = decide(each.model, rules, limits)
        taken, before = solver.spent - before, solver.spent
        yield decision._replace(counts=added([decision.counts, {"steps": taken}]))


def explain(model: Model, before: int, after: int, limits: Limits = LIMITS) -> Explanation:
    """Return which guards order two events in every execution, and as few as can be.

    A path of guards where there is one: that with the fewest guards between programs, for a
    program's own order needs no reason. Else a set of guards and credits of which none can be
    left out, which need not be the smallest. `ordered` is None where the limits, or a weak
    communicator, leave it open; of an event that never happens only paths are known.
    """
    graph = model.happens_before
    guards = Guards(graph)
    path = guards.shortest(before, after, model.frame.chain)
    if path is not None:
        return Explanation(ordered=True, edges=path)
    if not guards.thresholds:
        return Explanation(ordered=None if len(model.weak) else False)
    try:
        return _thresholded(model, guards, before, after, _Solver(limits))
    except ExhaustedError:
        return Explanation(ordered=None)


def _thresholded(
    model: Model, guards: Guards, before: int, after: int, solver: _Solver
) -> Explanation:
    if furthest(solver, model, guards).moment[after] < 0:
        return Explanation(ordered=False)
    state = State.first(guards.graph)
    executions = _Executions(solver, guards, state, closed=False, tracked=True)
    kept = executions.order(before, after, executions.tracks)
    if kept is None:
        return Explanation(ordered=None if len(model.weak) else False)
    for each in tuple(kept):
        if each in kept:
            rest = [other for other in kept if other != each]
            kept = executions.order(before, after, rest) or kept
    return Explanation(
        ordered=True,
        edges=tuple(label for label in kept if label[0] != label[1]),
        sends=tuple(event for other, event in kept if other == event),
    )
