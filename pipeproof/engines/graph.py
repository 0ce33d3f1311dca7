"""Decide rules on the happens-before graph: exact, and near linear in the number of events."""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, counted, distinct, either
from pipeproof.semantics.found import NO_EVENT, Finding, Needs, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import Acyclic, All, Axiom, Empty, Enforced, Never, Rel, Rule
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.relations.storage import held_back
from pipeproof.semantics.weak import movable
from pipeproof.verdict.decision import Broken, Decision

if TYPE_CHECKING:
    from pipeproof.semantics.waiting import Cycle

__all__ = ["NAME", "Ancestors", "Run", "decide", "run"]

NAME = "graph"
_TRACE_EVENTS = 200_000  # all traces of a decision together; the first of each rule has one anyway
_EXACT_COSTS = 300
_NO_PLACE = 2**62


class Run(NamedTuple):
    """The furthest execution: `level[e]` is the round in which event e happens, -1 if never."""

    level: IntArray

    @property
    def happened(self) -> npt.NDArray[np.bool_]:
        """Which events happen, shape `(size,)`."""
        return np.asarray(self.level >= 0)

    def order(self, events: IntArray) -> IntArray:
        """Return `events` in an order in which they can happen."""
        return events[np.lexsort((events, self.level[events]))]


class _Sweep:
    """One greedy run, round by round: everything that can happen happens."""

    def __init__(self, model: Model, graph: Graph) -> None:
        self.model, self.graph = model, graph
        order = np.argsort(graph.before, kind="stable")
        self.next = graph.after[order]
        self.bounds = np.searchsorted(graph.before[order], np.arange(graph.size + 1))
        self.waiting = np.bincount(graph.after, minlength=graph.size) + graph.never
        self.granted = [min(credit.capacity, len(credit.drained)) for credit in graph.credits]
        for credit, granted in zip(graph.credits, self.granted, strict=True):
            self.waiting[credit.drained[granted:]] += 1
        self.level = np.full(graph.size, -1, np.int64)
        self.round = 0

    def run(self) -> Run:
        ready = np.flatnonzero(self.waiting == 0)
        while True:
            parked = ready[self.graph.held[ready]]
            ready = ready[~self.graph.held[ready]]
            while len(ready):
                ready, more = self._happen(ready)
                parked = np.concatenate((parked, more))
            ready = self._move_weak()
            if not len(ready):
                return Run(self.level)

    def _happen(self, events: IntArray) -> tuple[IntArray, IntArray]:
        """Let events happen; return those that then can, and those that are held back."""
        after = self._step(events)
        held = self.graph.held[after]
        return after[~held], after[held]

    def _step(self, events: IntArray) -> IntArray:
        self.level[events] = self.round
        self.round += 1
        low, high = self.bounds[events], self.bounds[events + 1]
        counts = high - low
        first = np.repeat(low - np.cumsum(counts) + counts, counts)
        after, times = counted(self.next[first + np.arange(len(first))])
        self.waiting[after] -= times
        free = after[self.waiting[after] == 0]
        return np.concatenate((free, self._grant(events))) if self.graph.credits else free

    def _grant(self, events: IntArray) -> IntArray:
        """Return the sends whose credit came free with `events`."""
        freed = [np.zeros(0, np.int64)]
        for number, credit in enumerate(self.graph.credits):
            if not np.any(among(credit.arrived, events)):
                continue
            missing = np.flatnonzero(self.level[credit.arrived] < 0)
            enough = len(missing) >= credit.capacity
            until = int(missing[credit.capacity - 1]) + 1 if enough else len(credit.drained)
            sends = credit.drained[self.granted[number] : until]
            self.granted[number] = max(until, self.granted[number])
            self.waiting[sends] -= 1
            freed.append(sends[self.waiting[sends] == 0])
        return np.concatenate(freed)

    def _move_weak(self) -> IntArray:
        """When nothing else can happen, move what both ranks stand in a call for.

        All that then can move does, also behind it in a queue, before any rank goes on.
        """
        ready = np.zeros(0, np.int64)
        if not len(self.model.weak):
            return ready
        frame = self.model.frame
        transfers = movable(self.model, self.level >= 0)
        allowed = ~self.graph.held
        allowed[frame.drained(transfers)] = allowed[frame.arrived(transfers)] = True
        now = np.concatenate((frame.drained(transfers), frame.arrived(transfers)))
        now = now[(self.waiting[now] == 0) & (self.level[now] < 0)]
        while len(now):
            after = self._step(now)
            after = after[allowed[after]]
            moves = (after >= frame.first_transfer) & (after < self.graph.size)
            ready, now = np.concatenate((ready, after[~moves])), after[moves]
        return ready


def run(model: Model, graph: Graph) -> Run:
    """Return the furthest execution; with monotone guards all executions end there.

    Linear in events and guards: one pass where lowering left an order in which everything can
    happen, else in numpy rounds, as many as the longest path.
    """
    return _as_guessed(model, graph) or _Sweep(model, graph).run()


def _as_guessed(model: Model, graph: Graph) -> Run | None:
    """Return the order that lowering left as the run, if it satisfies every guard."""
    plain = graph.size == model.events and not graph.credits and not len(model.weak)
    moment = model.frame.guess if plain else None
    if moment is None or np.any(graph.never):
        return None
    return Run(moment) if np.all(moment[graph.before] < moment[graph.after]) else None


class Ancestors:
    """What happens before an event in every execution, by walking guards backwards."""

    def __init__(self, graph: Graph) -> None:
        order = np.argsort(graph.after, kind="stable")
        self._previous = graph.before[order]
        self._bounds = np.searchsorted(graph.after[order], np.arange(graph.size + 1))
        self._size = graph.size

    def of(self, events: IntArray) -> IntArray:
        """Return every event and gate strictly before one of `events`."""
        seen = np.zeros(self._size, np.bool_)
        front = distinct(events)
        while len(front):
            low, high = self._bounds[front], self._bounds[front + 1]
            counts = high - low
            first = np.repeat(low - np.cumsum(counts) + counts, counts)
            back = distinct(self._previous[first + np.arange(len(first))])
            front = back[~seen[back]]
            seen[front] = True
        return np.flatnonzero(seen)


class _Decider:
    """What deciding several rules of one model shares: the run, the cycles, the ancestors."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.run = run(model, model.progress)
        self._ancestors: Ancestors | None = None
        self._cycles: tuple[Cycle, ...] | None = None

    @property
    def ancestors(self) -> Ancestors:
        if self._ancestors is None:
            self._ancestors = Ancestors(self.model.happens_before)
        return self._ancestors

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
            case Empty(rel):
                found = self.model.findings(rel)
                return found.instances, list(found.found)
            case Never(rel):
                found = self.model.findings(rel)
                return found.instances, [f for f in found.found if self.run.level[f.event] >= 0]
            case Acyclic(_, through):
                return self._acyclic(through)
            case Enforced(rel, _):
                needs = self.model.needs(rel)
                return len(needs.after), self._unordered(needs)
            case All(axioms):
                parts = [self.decide(each) for each in axioms]
                return sum(n for n, _ in parts), [f for _, found in parts for f in found]

    def _acyclic(self, through: str) -> tuple[int, list[Finding]]:
        message = self.model.frame.run.is_message
        found = [c.finding for c in self.cycles if c.collective == (through == "collectives")]
        if through == "messages":
            return int(np.sum(message)) + self._awaits(), found
        absent = self.model.findings(Rel("unentered"))
        return absent.instances, [*absent.found, *found]

    def _awaits(self) -> int:
        return int(np.sum(self.model.frame.ops.is_kind(Kind.AWAIT)))

    def _unordered(self, needs: Needs) -> list[Finding]:
        frame = self.model.frame
        ordered = self._ordered_on_chain(needs)
        found = []
        for k in np.flatnonzero(~ordered).tolist():
            before, after = int(needs.before[k]), int(needs.after[k])
            if before != NO_EVENT and self._path(before, after):
                continue
            row, value = int(needs.rows[k]), int(needs.values[k])
            facts = {"op": frame.text(row)}
            if needs.why is not None:
                facts["why"] = needs.why(k)
            facts["value"] = frame.ops.value_text(value) if value >= 0 else "what it needs"
            if needs.others is not None:
                other = int(needs.others[k])
                facts["other"] = frame.text(other) if other >= 0 else "what is there"
            found.append(Finding((Spot(after, row),), facts))
        return found

    def _ordered_on_chain(self, needs: Needs) -> npt.NDArray[np.bool_]:
        """Return which pairs plain program order, after at most one wait, already orders."""
        frame = self.model.frame
        before, after = needs.before, needs.after
        exists = before != NO_EVENT
        chain = frame.chain
        same = exists & (chain[np.where(exists, before, 0)] == chain[after])
        ordered: npt.NDArray[np.bool_] = same & (before <= after)
        moving = np.flatnonzero(exists & ~same)
        ordered[moving] = self._waited_before(before[moving], after[moving])
        return ordered

    def _waited_before(self, transfers: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """Return which messages the program of `after` waits for before that event."""
        chain = self.model.frame.chain
        moment = self._earliest_wait[transfers]
        waits = moment <= after
        return np.asarray(waits & (chain[np.where(waits, moment, 0)] == chain[after]))

    @cached_property
    def _earliest_wait(self) -> IntArray:
        """For each event of a transfer the first event of a program that waits for it directly."""
        graph, first = self.model.happens_before, self.model.frame.first_transfer
        onto = np.flatnonzero((graph.before >= first) & (graph.after < first))
        earliest = np.full(graph.size, np.iinfo(np.int64).max)
        order = np.argsort(graph.after[onto])[::-1]
        earliest[graph.before[onto][order]] = graph.after[onto][order]
        return earliest

    def _path(self, before: int, after: int) -> bool:
        """Whether `before` comes first in every execution.

        Conjunctive guards: a path. With thresholds: `after` cannot happen while `before` is
        forbidden, in one run (dominance).
        """
        if self.model.frame.chain[before] == self.model.frame.chain[after] >= 0:
            return before <= after
        graph = self.model.happens_before
        if graph.credits:
            never = graph.never.copy()
            never[before] = True
            return not bool(run(self.model, graph._replace(never=never)).happened[after])
        return bool(among(before, self.ancestors.of(np.asarray([after]))))


class _Showing:
    """Finds, for what is broken, what it costs and an execution that shows it."""

    def __init__(self, decider: _Decider) -> None:
        self.decider = decider
        self.frame = decider.model.frame
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
        return int(np.sum(self.decider.ancestors.of(events) < self.frame.events))

    def show(self, rule: Rule, finding: Finding, cost: int) -> Broken:
        happened = self.decider.run.happened
        starts = self._starts(finding)
        held = self.held if isinstance(rule.axiom, Acyclic) else np.zeros(0, np.int64)
        reached = bool(np.all(happened[starts] | among(starts, held))) and not self._misses(finding)
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
        if isinstance(rule.axiom, Acyclic):
            events = np.flatnonzero(run.happened)
        elif len(self.decider.model.weak) or self.decider.model.happens_before.credits:
            last = self._last(finding, starts)
            furthest = run.level[last].max(initial=-1)
            events = np.flatnonzero(run.happened & (run.level < furthest))
            events = either(events, last[run.happened[last]])
        else:
            last = self._last(finding, starts)
            events = either(self.decider.ancestors.of(last), last)
            events = events[run.happened[events]]
        return run.order(events[events < self.frame.events])

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
    for rule in rules:
        number, findings = decider.decide(rule.axiom)
        instances[rule.code] = number
        found.extend((rule, finding) for finding in findings)
    showing = _Showing(decider)
    costs = _costs(showing, found)
    order = sorted(range(len(found)), key=lambda k: (costs[k], *_key(model, *found[k])))
    broken = tuple(showing.show(*found[k], costs[k]) for k in order)
    complete = bool(np.all(decider.run.happened[: model.events]))
    return Decision(NAME, instances, broken, complete=complete)


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


def _bound(frame: Frame, finding: Finding) -> int:
    if not finding.spots:
        return _NO_PLACE
    starts = [spot.event for spot in finding.spots]
    rank_start = 2 * frame.run.rank_start[frame.chain[starts]]
    return max(int(e - s) if e < frame.ends else 0 for e, s in zip(starts, rank_start, strict=True))


def _key(model: Model, rule: Rule, finding: Finding) -> tuple[str, list[tuple[int, int]], str]:
    """Break ties: the lower code, then the lower rank and position."""
    return rule.code, [model.frame.place(spot) for spot in finding.spots], str(finding.facts)
