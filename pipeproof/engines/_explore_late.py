"""Whether an event can happen after another one: worlds in which it is forbidden tell."""

from collections.abc import Sequence

from pipeproof.engines._explore_blocked import Blocked
from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_guards import System, Walk
from pipeproof.engines._explore_least import shortest
from pipeproof.semantics.found import NO_EVENT, Finding

__all__ = ["Late"]


class Late:
    """What happens too late in some execution.

    `wrong` are findings, each with a run that shows it; `left` counts those that weak
    communicators leave open, and those that the budget does.
    """

    def __init__(
        self, system: System, free: Walk, late: Walk, spent: Spent, found: Sequence[Finding]
    ) -> None:
        """Look for it.

        Args:
            system: the guards, where weak messages move whenever they can.
            free: all that can happen so.
            late: all that can happen where weak messages move as late as they may.
            spent: what it is counted on.
            found: what must not happen, each after what stands before it.
        """
        self._system, self._free, self._late, self._spent = system, free, late, spent
        self._orders: dict[tuple[int, int], bool | None] = {}
        self.wrong: list[tuple[Finding, tuple[int, ...]]] = []
        self.weak = self.left = 0
        asked = [(each, _before(each)) for each in found if self._may_happen(each)]
        self._order({(each.event, before) for each, before in asked if before != NO_EVENT})
        for each, before in asked:
            self._take(each, before)

    def _may_happen(self, each: Finding) -> bool:
        before, happened = _before(each), self._free.happened
        there = before == NO_EVENT or bool(happened[before])
        return bool(happened[each.event]) and there and each.event != before

    def _order(self, pairs: set[tuple[int, int]]) -> None:
        """Find which events come before which in every execution."""
        events = sorted({event for event, _ in pairs})
        self._orders.update(dict.fromkeys(pairs))
        blocked = Blocked(self._system, self._free.trail, self._spent)
        for some, happens in blocked.worlds(events):
            world = {event: number for number, event in enumerate(some)}
            for event, before in pairs:
                if event in world:
                    self._orders[event, before] = not happens[before] >> world[event] & 1

    def _take(self, each: Finding, before: int) -> None:
        ordered = False if before == NO_EVENT else self._orders[each.event, before]
        if ordered is None:
            self.left += 1
        elif not ordered and not self._system.model.weak.size:
            self.wrong.append((each, tuple(self._run(each.event, before))))
        elif not ordered:
            run = self._shown(each.event, before)
            self.wrong += [(each, run)] if run else []
            self.weak += not run

    def _run(self, event: int, before: int) -> list[int]:
        """Return a short run to an event that has another one first."""
        everything = frozenset(self._free.order)
        first = list[int]()
        if before != NO_EVENT:
            blocked = Walk(self._system, forbidden=(event,))
            blocked.run()
            first = shortest(self._system, (before,), frozenset(blocked.order))
        known = set(first)
        last = shortest(self._system, (event,), everything)
        return [*first, *(each for each in last if each not in known)]

    def _shown(self, event: int, before: int) -> tuple[int, ...]:
        """Return the run in which weak messages move late, up to an event; empty if in vain."""
        order = self._late.order
        if not self._late.happened[event]:
            return ()
        run = order[: order.index(event) + 1]
        return tuple(run) if before == NO_EVENT or before in run else ()


def _before(each: Finding) -> int:
    return NO_EVENT if each.before is None else each.before
