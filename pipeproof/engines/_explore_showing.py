"""What breaks a rule, with what it costs and a shortest run that shows it."""

from functools import cached_property

import numpy as np

from pipeproof.engines._explore_blocked import Blocked
from pipeproof.engines._explore_deciding import Deciding, Wrong
from pipeproof.engines._explore_guards import Walk
from pipeproof.engines._explore_least import behind, phased, shortest
from pipeproof.semantics.found import NO_EVENT, Finding
from pipeproof.semantics.logic import Acyclic, Finally, Rule
from pipeproof.semantics.relations.storage import held_back
from pipeproof.verdict.decision import Broken

__all__ = ["Showing"]

_TRACE_EVENTS = 200_000  # all traces of a decision together; the first of each rule has one anyway
_NO_PLACE = 2**62


class Showing:
    """Costs and runs of what was found."""

    def __init__(self, deciding: Deciding) -> None:
        self._deciding = deciding
        self._model = deciding.model
        self._left = _TRACE_EVENTS
        self._shown: set[str] = set()
        self._pasts: dict[int, set[int]] = {}

    def costs(self, found: list[tuple[Rule, Wrong]]) -> list[int]:
        """Return, for each finding, the events before its places in every execution."""
        starts = [_starts(wrong.finding) for _, wrong in found]
        if self._deciding.order.thresholds:
            self._look_ahead({e for each in starts for e in each})
        return [len(set().union(*map(self._past, s))) if s else _NO_PLACE for s in starts]

    def show(self, rule: Rule, wrong: Wrong, cost: int) -> Broken:
        """Return what is broken, with a run that shows it."""
        deciding, finding = self._deciding, wrong.finding
        starts = _starts(finding)
        known = deciding.happening
        if isinstance(rule.axiom, Acyclic):
            known = known | self._held
        reached = known.issuperset(starts)
        reached &= finding.event == NO_EVENT or finding.event in deciding.happening
        reached |= bool(wrong.run)
        trace: list[int] = []
        wanted = self._left > 0 or rule.code not in self._shown
        if starts and wanted and (reached or deciding.finished):
            self._shown.add(rule.code)
            trace = self._run(rule, wrong, starts)
            self._left -= len(trace)
        return Broken(rule, finding, cost, np.asarray(trace, np.int64), reached)

    def _past(self, event: int) -> set[int]:
        if event not in self._pasts:
            system = self._deciding.order
            self._pasts[event] = {e for e in behind(system, (event,)) if e < system.events}
        return self._pasts[event]

    def _look_ahead(self, events: set[int]) -> None:
        """Find what comes before events in every execution, credits asked too.

        For events that never happen, and where the budget ends, only the guards are asked.
        """
        deciding, walk = self._deciding, self._deciding.furthest
        alive = [e for e in sorted(events) if walk.happened[e]]
        pasts: dict[int, set[int]] = {event: set() for event in alive}
        blocked = Blocked(deciding.order, walk.trail, deciding.spent)
        for some, happens in blocked.worlds(walk.order if alive else ()):
            for event in alive:
                found = {each for world, each in enumerate(some) if not happens[event] >> world & 1}
                pasts[event] |= found - {event}
        if not deciding.spent.over:
            self._pasts.update(pasts)

    @cached_property
    def _held(self) -> frozenset[int]:
        """The starts at which ranks stand because a slot is not reusable."""
        deciding = self._deciding
        return frozenset(
            event
            for state in deciding.reached.ends
            for event in held_back(self._model.frame, deciding.happened(state))
        )

    @cached_property
    def _stuck_run(self) -> list[int]:
        walk = Walk(self._deciding.stuck)
        walk.run()
        return walk.order

    def _run(self, rule: Rule, wrong: Wrong, starts: list[int]) -> list[int]:
        deciding, finding = self._deciding, wrong.finding
        if wrong.run:
            return list(wrong.run)
        if isinstance(rule.axiom, Acyclic | Finally):
            return self._stuck_run
        targets = starts
        if finding.event != NO_EVENT and finding.event in deciding.happening:
            targets = [finding.event]
        if len(self._model.weak):
            reached = [e for e in targets if e in deciding.happening]
            return phased(deciding.order, deciding.late, reached, wrong.without)
        if wrong.state:
            return shortest(deciding.order, tuple(wrong.state), wrong.state)
        return shortest(deciding.order, targets, deciding.happening - {wrong.without})


def _starts(finding: Finding) -> list[int]:
    return sorted({spot.event for spot in finding.spots})
