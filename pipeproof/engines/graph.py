"""Decide rules on the happens-before graph: exact, and near linear in the number of events."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pipeproof.engines._counts import Counts
from pipeproof.engines._late import Late
from pipeproof.engines._live import Peak, overfull, peaks
from pipeproof.engines._order import Ancestors, HappensBefore
from pipeproof.engines._sweep import Run, run
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, either, first_of
from pipeproof.ir.sizes import size_text
from pipeproof.semantics.found import Finding, Needs, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import (
    Acyclic,
    All,
    AtMost,
    Axiom,
    Empty,
    Enforced,
    Finally,
    Never,
    NotAfter,
    Rel,
    Rule,
)
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations.storage import held_back
from pipeproof.verdict.decision import Broken, Decision

if TYPE_CHECKING:
    from pipeproof.semantics.waiting import Cycle

__all__ = ["NAME", "Ancestors", "Run", "decide", "furthest", "most_live", "run"]

NAME = "graph"
_TRACE_EVENTS = 200_000  # all traces of a decision together; the first of each rule has one anyway
_EXACT_COSTS = 300
_COUNTED_EVENTS = 400  # up to which a cost counts what thresholds alone ask for
_NO_PLACE = 2**62


class _Decider:
    """What deciding several rules of one model shares: the run, the cycles, the ancestors."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.run = run(model, model.progress)
        self._cycles: tuple[Cycle, ...] | None = None
        self.open = ""

    @cached_property
    def order(self) -> HappensBefore:
        return HappensBefore(self.model)

    @cached_property
    def late(self) -> Late:
        return Late(self.order)

    @property
    def ancestors(self) -> Ancestors:
        return self.order.ancestors

    @property
    def cycles(self) -> "tuple[Cycle, ...]":
        if self._cycles is None:
            stuck = not bool(np.all(self.run.happened[: self.model.events]))
            self._cycles = self._find_cycles() if stuck else ()
        return self._cycles

    def _find_cycles(self) -> "tuple[Cycle, ...]":
        from pipeproof.semantics.waiting import cycles  # noqa: PLC0415  only where it is stuck

        return cycles(self.model, self.run.happened)

    def decide(self, axiom: Axiom) -> tuple[int, list[Finding]]:
        """Return the number of instances of an axiom, and where it does not hold."""
        match axiom:
            case Empty() | Never() | Finally() | NotAfter():
                return self._found(axiom)
            case Acyclic(_, through):
                return self._acyclic(through)
            case Enforced(rel, _):
                needs = self.model.needs(rel)
                return len(needs.after), self._unordered(needs)
            case AtMost(measure):
                return self._at_most(measure)
            case All(axioms):
                parts = [self.decide(each) for each in axioms]
                return sum(n for n, _ in parts), [f for _, found in parts for f in found]

    def _found(self, axiom: Empty | Never | Finally | NotAfter) -> tuple[int, list[Finding]]:
        if isinstance(axiom, Finally):
            found = self.model.ending(axiom.rel, self.run.happened)
            return found.instances, list(found.found)
        found = self.model.findings(axiom.rel)
        listed = list(found.found)
        if isinstance(axiom, Never):
            listed = [each for each in listed if self.run.level[each.event] >= 0]
        elif isinstance(axiom, NotAfter):
            listed, self.open = self.late.late(listed)
        return found.instances, listed

    def _at_most(self, measure: Rel) -> tuple[int, list[Finding]]:
        if not self.model.is_bounded(measure):
            return 0, []
        holds = self.model.holds(measure)
        places = overfull(self.order, holds)
        if places and not self.order.told(holds.ends):
            self.open = "with these guards the most that is live is only known from above"
            return len(holds.start), []
        frame, bound = self.model.frame, size_text(holds.bound or 0)
        found = []
        for rank, row, weight in places:
            why = f"makes {size_text(weight)} live on rank {rank}, more than {bound}"
            event = int(frame.start(np.asarray(row))) if row >= 0 else frame.ends + rank
            op = frame.text(row) if row >= 0 else "what its stages hold"
            found.append(Finding((Spot(event, row),), {"op": op, "why": why}))
        return len(holds.start), found

    def _acyclic(self, through: str) -> tuple[int, list[Finding]]:
        message = self.model.frame.run.is_message
        found = [c.finding for c in self.cycles if c.collective == (through == "collectives")]
        if through == "messages":
            guarded = len(self.model.edges("guarded").pairs)
            return int(np.sum(message)) + self._awaits() + guarded, found
        absent = self.model.findings(Rel("unentered"))
        return absent.instances, [*absent.found, *found]

    def _awaits(self) -> int:
        return int(np.sum(self.model.frame.ops.is_kind(Kind.AWAIT)))

    def _unordered(self, needs: Needs) -> list[Finding]:
        wrong = np.flatnonzero(~self.order.ordered(needs.before, needs.after))
        if needs.once:
            wrong = wrong[first_of(needs.rows[wrong])[1]]
        return [self._finding(needs, k) for k in wrong.tolist()]

    def _finding(self, needs: Needs, k: int) -> Finding:
        frame = self.model.frame
        row, value = int(needs.rows[k]), int(needs.values[k])
        facts = {"op": frame.text(row)}
        if needs.why is not None:
            facts["why"] = needs.why(k)
        facts["value"] = frame.ops.value_text(value) if value >= 0 else "what it needs"
        if needs.others is not None:
            other = int(needs.others[k])
            facts["other"] = frame.text(other) if other >= 0 else "what is there"
        return Finding((Spot(int(needs.after[k]), row),), facts, before=int(needs.before[k]))


class _Showing:
    """Finds, for what is broken, what it costs and an execution that shows it."""

    def __init__(self, decider: _Decider, found: list[tuple[Rule, Finding]]) -> None:
        self.decider = decider
        self.frame = decider.model.frame
        self.counts = Counts(decider.order, (self._starts(finding) for _, finding in found))
        self.left = _TRACE_EVENTS
        self.shown: set[str] = set()

    @cached_property
    def held(self) -> IntArray:
        """The starts at which ranks stand because a slot is not reusable."""
        return np.asarray([*held_back(self.frame, self.decider.run.happened)], np.int64)

    def cost(self, finding: Finding) -> int:
        """Count the events before the places of a finding in every execution."""
        events = self._starts(finding)
        if not len(events):
            return _NO_PLACE
        counted = self.counts.of(events) if self.frame.events > _COUNTED_EVENTS else None
        if counted is not None:
            return counted
        before = self.decider.ancestors.of(events)
        before = before[before < self.frame.events]
        return len(before) + self._by_count(events, before)

    def _by_count(self, events: IntArray, before: IntArray) -> int:
        """Count what comes first only because a threshold asks for enough, in small schedules.

        That is every other event without which one of `events` does not happen.
        """
        graph = self.decider.model.happens_before
        if not graph.credits or self.frame.events > _COUNTED_EVENTS:
            return 0
        known = np.zeros(graph.size, np.bool_)
        known[before] = known[events] = True
        others = np.flatnonzero(~known[: self.frame.events])
        return int(np.sum(~np.all(self.without[np.ix_(others, events)], axis=1)))

    @cached_property
    def without(self) -> npt.NDArray[np.bool_]:
        """Which events still happen where one never does, shape `(events, size)`."""
        model, graph = self.decider.model, self.decider.model.happens_before
        happened = np.empty((self.frame.events, graph.size), np.bool_)
        for event in range(self.frame.events):
            never = graph.never.copy()
            never[event] = True
            happened[event] = run(model, graph._replace(never=never)).happened
        return happened

    def show(self, rule: Rule, finding: Finding, cost: int) -> Broken:
        happened = self.decider.run.happened
        starts = self._starts(finding)
        held = self.held if isinstance(rule.axiom, Acyclic) else np.zeros(0, np.int64)
        reached = bool(np.all(happened[starts] | among(starts, held))) and not self._misses(finding)
        reached |= isinstance(rule.axiom, NotAfter)
        trace = np.zeros(0, np.int64)
        if len(starts) and (self.left > 0 or rule.code not in self.shown):
            self.shown.add(rule.code)
            trace = self._trace(rule, finding, starts)
            self.left -= len(trace)
        return Broken(rule, finding, cost, trace, reached)

    def _misses(self, finding: Finding) -> bool:
        """Whether the event that shows a finding never happens."""
        return finding.event >= 0 and self.decider.run.level[finding.event] < 0

    def _starts(self, finding: Finding) -> IntArray:
        return np.asarray(sorted({spot.event for spot in finding.spots}), np.int64)

    def _trace(self, rule: Rule, finding: Finding, starts: IntArray) -> IntArray:
        run = self.decider.run
        if isinstance(rule.axiom, NotAfter):
            return self.decider.late.trace(finding)
        if isinstance(rule.axiom, Acyclic | Finally):
            events = np.flatnonzero(run.happened)
        elif len(self.decider.model.weak) or self.decider.model.happens_before.credits:
            last = self._last(finding, starts)
            run = self._without(finding.before)
            furthest = run.level[last].max(initial=-1)
            events = np.flatnonzero(run.happened & (run.level < furthest))
            events = either(events, last[run.happened[last]])
        else:
            last = self._last(finding, starts)
            events = either(self.decider.ancestors.of(last), last)
            events = events[run.happened[events]]
        return run.order(events[events < self.frame.events])

    def _without(self, before: int | None) -> Run:
        """Return the furthest execution, as far as it goes without an event that must come first.

        In the order of all executions: what a collective's kind does not order is not waited for.
        """
        graph = self.decider.model.happens_before
        if before is None or before < 0:
            return run(self.decider.model, graph)
        never = graph.never.copy()
        never[before] = True
        blocked = run(self.decider.model, graph._replace(never=never))
        return blocked if not len(self.decider.model.weak) else run(self.decider.model, graph)

    def _last(self, finding: Finding, starts: IntArray) -> IntArray:
        """Return the events that an execution is to reach: the illegal one, or all places."""
        shown = finding.event >= 0 and self.decider.run.level[finding.event] >= 0
        return np.asarray([finding.event]) if shown else starts


def decide(model: Model, rules: tuple[Rule, ...]) -> Decision:
    """Decide `rules` of a model, exactly and for every interleaving.

    Returns:
        The instances of each rule, and all that breaks one, what needs the fewest events first.
    """
    decider = _Decider(model)
    instances: dict[str, int] = {}
    found: list[tuple[Rule, Finding]] = []
    unknown: dict[str, str] = {}
    for rule in rules:
        decider.open = ""
        number, findings = decider.decide(rule.axiom)
        if decider.open:
            unknown[rule.code] = decider.open
        instances[rule.code] = number
        found.extend((rule, finding) for finding in findings)
    showing = _Showing(decider, found)
    costs = _costs(showing, found)
    order = sorted(range(len(found)), key=lambda k: (costs[k], *_key(model, *found[k])))
    broken = tuple(showing.show(*found[k], costs[k]) for k in order)
    complete = bool(np.all(decider.run.happened[: model.events]))
    return Decision(NAME, instances, broken, complete=complete, unknown=unknown)


def _costs(showing: _Showing, found: list[tuple[Rule, Finding]]) -> list[int]:
    """Return the costs; beyond `_EXACT_COSTS` findings, a lower bound for those far from first.

    An event has at least those before it on its own rank; so the first is exact in any case.
    """
    bound = [_bound(showing.frame, finding) for _, finding in found]
    if len(found) <= _EXACT_COSTS:
        return [showing.cost(finding) for _, finding in found]
    best = _NO_PLACE
    for k in sorted(range(len(found)), key=lambda k: bound[k]):
        if bound[k] > best:
            break
        bound[k] = showing.cost(found[k][1])
        best = min(best, bound[k])
    return bound


def furthest(model: Model) -> npt.NDArray[np.bool_]:
    """Return which events have happened where nothing more can, shape `(size,)`."""
    return run(model, model.progress).happened


def most_live(model: Model) -> tuple[tuple[Peak, ...], bool]:
    """Return the most that is live on each rank at once, by kind and in all, over all executions.

    Returns:
        The peaks, and whether they are exact; if not, upper bounds.
    """
    order = HappensBefore(model)
    return peaks(order, model.holds(Rel("memory"))), order.exact


def _bound(frame: Frame, finding: Finding) -> int:
    if not finding.spots:
        return _NO_PLACE
    starts = [spot.event for spot in finding.spots]
    rank_start = 2 * frame.run.rank_start[frame.chain[starts]]
    return max(int(e - s) if e < frame.ends else 0 for e, s in zip(starts, rank_start, strict=True))


def _key(model: Model, rule: Rule, finding: Finding) -> tuple[str, list[tuple[int, int]], str]:
    """Break ties: the lower code, then the lower rank and position."""
    return rule.code, [model.frame.place(spot) for spot in finding.spots], str(finding.facts)
