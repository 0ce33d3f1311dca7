"""What is decided of each axiom by exploring, and what the budget leaves open."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.engines._explore_blocked import Blocked
from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_frontier import Frontier, Reached, explore, fingerprint
from pipeproof.engines._explore_guards import System, Walk, events_of
from pipeproof.engines._explore_late import Late
from pipeproof.engines._explore_least import LeastSets, behind, phased
from pipeproof.engines._explore_live import Candidate, Watched
from pipeproof.ir.actions import Kind
from pipeproof.ir.sizes import size_text
from pipeproof.semantics.found import NO_EVENT, Finding, Holds, Needs, Spot, once_a_place
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
)
from pipeproof.semantics.model import Model
from pipeproof.semantics.waiting import Cycle, cycles

__all__ = ["Decided", "Deciding", "Wrong"]


class Wrong(NamedTuple):
    """A finding that breaks an axiom.

    Its run must not have the event `without`, if there is one; `state`, if it is not empty, holds
    the events of a run that shows it; `run`, if it is not empty, is one.
    """

    finding: Finding
    without: int = NO_EVENT
    state: frozenset[int] = frozenset()
    run: tuple[int, ...] = ()


class Decided(NamedTuple):
    """The instances of an axiom, where it does not hold, and why some of it is open, if it is."""

    instances: int
    wrong: tuple[Wrong, ...] = ()
    open: str = ""


class Deciding:
    """One model, explored once and asked about axiom by axiom.

    Deadlock is judged where weak messages move as late as they may; order in all executions, where
    they move whenever they can.
    """

    def __init__(self, model: Model, spent: Spent, frontier: Frontier | None = None) -> None:
        self.model = model
        self.spent = spent
        self.stuck = System(model, model.progress, weak=True)
        same = model.progress is model.happens_before and not len(model.weak)
        ordered = self.stuck if same else System(model, model.happens_before, weak=False)
        self.order = ordered
        of = fingerprint(model.progress, "reduced")
        self.reached: Reached = explore(self.stuck, spent, of, frontier)

    @property
    def finished(self) -> bool:
        """Whether every state was reached that had to be."""
        return self.reached.frontier is None

    @cached_property
    def happening(self) -> frozenset[int]:
        """The events that happen in some execution that was covered."""
        states = self.reached.ends if self.finished else self.reached.covered
        return frozenset(e for state in states for e in events_of(state, self.model.events))

    @property
    def complete(self) -> bool:
        """Whether every event happens in every execution."""
        everything = (1 << self.model.events) - 1
        return self.finished and all(state == everything for state in self.reached.ends)

    def happened(self, state: int) -> npt.NDArray[np.bool_]:
        """Return which events have happened in a state, with the gates that are open in it."""
        walk = Walk(self.stuck, happened=events_of(state, self.model.events))
        return np.frombuffer(walk.happened, np.uint8).astype(np.bool_)

    @cached_property
    def furthest(self) -> Walk:
        """All that can happen in the order that is judged."""
        walk = Walk(self.order)
        walk.run(self.spent)
        return walk

    @cached_property
    def late(self) -> Walk:
        """All that can happen in the order that is judged, weak messages as late as they may."""
        walk = Walk(System(self.model, self.model.happens_before, weak=True))
        walk.run()
        return walk

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The deadlocks of the states in which nothing more can happen."""
        everything = (1 << self.model.events) - 1
        return tuple(
            each
            for state in self.reached.ends
            if state != everything
            for each in cycles(self.model, self.happened(state))
        )

    def decide(self, axiom: Axiom) -> Decided:
        """Decide an axiom as far as the budget goes."""
        match axiom:
            case Empty(rel):
                found = self.model.findings(rel)
                return Decided(found.instances, tuple(map(Wrong, found.found)))
            case Never() | Finally() | NotAfter():
                return self._happening(axiom)
            case Acyclic(_, through):
                return self._acyclic(through)
            case Enforced(rel, _):
                return self._enforced(self.model.needs(rel))
            case AtMost(measure):
                return self._at_most(measure)
            case All(axioms):
                parts = [self.decide(each) for each in axioms]
                wrong = tuple(each for part in parts for each in part.wrong)
                open_ = next((part.open for part in parts if part.open), "")
                return Decided(sum(part.instances for part in parts), wrong, open_)

    def _covered(self, said: str) -> str:
        return f"{self.spent.over} ended the exploration after {self.spent.total} states: {said}"

    def _happening(self, axiom: Never | Finally | NotAfter) -> Decided:
        """Decide what is asked of single events, or of where nothing more can happen."""
        match axiom:
            case Never(rel):
                return self._never(rel)
            case Finally(rel):
                return self._finally(rel)
            case NotAfter(rel):
                return self._not_after(rel)

    def _finally(self, rel: Rel) -> Decided:
        if not self.finished:
            return Decided(0, (), self._covered("where it ends is open"))
        ends = [self.model.ending(rel, self.happened(state)) for state in self.reached.ends]
        found = once_a_place(finding for end in ends for finding in end.found)
        instances = max((end.instances for end in ends), default=0)
        return Decided(instances, tuple(map(Wrong, found)))

    def _not_after(self, rel: Rel) -> Decided:
        found = self.model.findings(rel)
        if not found.found:
            return Decided(found.instances)
        walks = (self.furthest, self.late if len(self.model.weak) else self.furthest)
        if self.spent.over:
            return Decided(found.instances, (), self._covered("what happens is open"))
        late = Late(self.order, *walks, self.spent, found.found)
        runs = {id(finding): run for finding, run in late.wrong}
        first = once_a_place(finding for finding, _ in late.wrong)
        wrong = tuple(Wrong(finding, run=runs[id(finding)]) for finding in first)
        open_ = "with weak communicators not every execution was looked at" if late.weak else ""
        open_ = self._covered(f"{late.left} places are open") if late.left else open_
        return Decided(found.instances, wrong, open_)

    def _never(self, rel: Rel) -> Decided:
        found = self.model.findings(rel)
        wrong = tuple(Wrong(each) for each in found.found if each.event in self.happening)
        left = len(found.found) - len(wrong)
        open_ = "" if self.finished or not left else self._covered(f"{left} places are open")
        return Decided(found.instances, wrong, open_)

    def _acyclic(self, through: str) -> Decided:
        model = self.model
        wrong = [
            Wrong(c.finding) for c in self.cycles if c.collective == (through == "collectives")
        ]
        open_ = "" if self.finished else self._covered("a rank may yet be stuck")
        if through == "collectives":
            absent = model.findings(Rel("unentered"))
            return Decided(absent.instances, (*map(Wrong, absent.found), *wrong), open_)
        messages = int(np.sum(model.frame.run.is_message))
        awaits = int(np.sum(model.frame.ops.is_kind(Kind.AWAIT)))
        guarded = len(model.edges("guarded").pairs)
        return Decided(messages + awaits + guarded, tuple(wrong), open_)

    def _enforced(self, needs: Needs) -> Decided:
        before, after = needs.before.tolist(), needs.after.tolist()
        pairs = list(zip(before, after, strict=True))
        ordered = self._ordered(set(pairs))
        wrong = [k for k, pair in enumerate(pairs) if ordered.get(pair) is False]
        if needs.once:
            rows = needs.rows.tolist()
            wrong = list({rows[k]: k for k in reversed(wrong)}.values())
        left = sum(pair not in ordered for pair in pairs)
        open_ = self._covered(f"{left} of {len(pairs)} pairs are open") if left else ""
        found = tuple(Wrong(self._finding(needs, k), before[k]) for k in sorted(wrong))
        return Decided(len(pairs), found, open_)

    def _ordered(self, pairs: set[tuple[int, int]]) -> dict[tuple[int, int], bool]:
        """Return which pairs are ordered in every execution, those left out that are open.

        What never happens is asked of its guards: they say what it would come after.
        """
        found = {pair: False for pair in pairs if pair[0] == NO_EVENT}
        walk = self.furthest
        if self.spent.over:
            return found
        alive: dict[int, list[int]] = {}
        dead: dict[int, list[int]] = {}
        for left, right in sorted(pairs - found.keys()):
            group, key, other = (
                (alive, left, right) if walk.happened[right] else (dead, right, left)
            )
            group.setdefault(key, []).append(other)
        for right, lefts in dead.items():
            past = self._told_before(right)
            found.update({(left, right): past(left) for left in lefts})
        blocked = Blocked(self.order, walk.trail, self.spent)
        for some, happens in blocked.worlds(list(alive)):
            for world, left in enumerate(some):
                found.update(
                    {(left, right): not happens[right] >> world & 1 for right in alive[left]}
                )
        return found

    def _told_before(self, event: int) -> Callable[[int], bool]:
        """Return what tells whether another comes before an event that never happens.

        On its own rank, by the program; else where the guards would put it.
        """
        chain = self.model.frame.chain
        past = behind(self.order, (event,)) | {event}
        return lambda other: other <= event if chain[other] == chain[event] else other in past

    def _finding(self, needs: Needs, k: int) -> Finding:
        frame = self.model.frame
        row, value = int(needs.rows[k]), int(needs.values[k])
        facts = {"op": frame.text(row)}
        facts |= {} if needs.why is None else {"why": needs.why(k)}
        facts["value"] = frame.ops.value_text(value) if value >= 0 else "what it needs"
        if needs.others is not None:
            other = int(needs.others[k])
            facts["other"] = frame.text(other) if other >= 0 else "what is there"
        return Finding((Spot(int(needs.after[k]), row),), facts)

    def _at_most(self, measure: Rel) -> Decided:
        if not self.model.is_bounded(measure):
            return Decided(0)
        holds = self.model.holds(measure)
        watched = Watched(self.order, holds)
        wrong, told, open_ = list[Wrong](), set[int](), ""
        for candidate in watched.candidates():
            if candidate.start in self.happening:
                weight, state = self._exceeding(watched, candidate)
                unsure = bool(weight) and not state
            elif self.finished:
                weight, unsure = self._told_exceeding(watched, candidate)
                state = frozenset()
            else:
                continue
            if unsure:
                grows = self._covered("what is live may yet grow") if self.spent.over else ""
                open_ = open_ or grows or "no execution was found with as much live as there may be"
            elif weight:
                wrong += self._too_much(holds, candidate, weight, state, told)
        if self.spent.over and not open_:
            open_ = self._covered("what is live may yet grow")
        return Decided(len(holds.start), tuple(wrong), open_)

    def _told_exceeding(self, watched: Watched, seen: Candidate) -> tuple[int, bool]:
        """Return what is live at a start that is not reached, and whether it may be less.

        What a deadlock keeps from being reached is asked of the guards, without thresholds.
        """
        walk = self.late if len(self.model.weak) else self.furthest
        if walk.happened[seen.start]:  # a collective that waits only in progress keeps it back
            weight, state = self._exceeding(watched, seen)
            return weight, bool(weight) and not state
        return seen.weight, False

    def _exceeding(self, watched: Watched, seen: Candidate) -> tuple[int, frozenset[int]]:
        """Return what can be live at a start, and a run to there.

        Without a run it may be as much; no weight says that it cannot exceed the bound.
        """
        if len(self.model.weak):
            state = frozenset(phased(self.order, self.late, (seen.start,), NO_EVENT))
            states = [state] if seen.start in state else []
            every = False
        elif self.order.thresholds:
            known = frozenset(self.furthest.order)
            search = LeastSets(self.order, (seen.start,), known, self.spent)
            states, every = list(search), False
            every = search.complete
        else:
            return seen.weight, frozenset(e for e in seen.state if e < self.model.events)
        weights = [(watched.weigh(seen.rank, seen.start, state), state) for state in states]
        weight, state = max(weights, key=lambda each: each[0], default=(0, frozenset()))
        if watched.exceeds(weight):
            return weight, state
        return (0 if every else seen.weight), frozenset()

    def _too_much(
        self, holds: Holds, at: Candidate, weight: int, state: frozenset[int], told: set[int]
    ) -> Iterator[Wrong]:
        frame = self.model.frame
        own = (holds.start == at.start) & (holds.rank == at.rank)
        why = f"makes {size_text(weight)} live on rank {at.rank}, more than "
        why += size_text(holds.bound or 0)
        for named in sorted(set(holds.rows[own].tolist())):
            row = named
            if row < 0 and at.start < frame.ends:
                row = int(frame.ops.first_row[at.start // 2])
            if row in told:
                continue
            told.add(row)
            text = frame.text(row) if row >= 0 else "the end of the program"
            yield Wrong(Finding((Spot(at.start, row),), {"op": text, "why": why}), state=state)
