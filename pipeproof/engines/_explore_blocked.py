"""What can happen while something is forbidden: for many forbidden events in one run.

An event comes before another in every execution that has the other exactly if the other does not
happen where the first is forbidden: guards are monotone, so the greedy run tells. One pass runs
many such worlds side by side; bit w of an event says that it happens in world w.
"""

from collections.abc import Iterator, Sequence

from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_guards import System, Threshold

__all__ = ["Blocked"]

_WORLDS = 2048


class Blocked:
    """Runs of a system in which one event is forbidden."""

    def __init__(self, system: System, trail: Sequence[int], spent: Spent) -> None:
        """Make it.

        Args:
            system: the guards.
            trail: all that can happen where nothing is forbidden, in an order in which it can.
            spent: what it is counted on.
        """
        self._system = system
        self._trail = trail
        self._spent = spent

    def worlds(self, forbidden: Sequence[int]) -> Iterator[tuple[Sequence[int], list[int]]]:
        """Yield some of `forbidden`, and for each event the worlds in which it happens.

        World w is the one in which the w-th of those is forbidden. It ends early where the budget
        does.
        """
        for low in range(0, len(forbidden), _WORLDS):
            some = forbidden[low : low + _WORLDS]
            if not self._spent.allows(len(self._trail)):
                return
            yield some, self._run(some)

    def _run(self, forbidden: Sequence[int]) -> list[int]:
        """Return the least fixpoint of the guards, all worlds at once."""
        system, full = self._system, (1 << len(forbidden)) - 1
        open_ = {event: full & ~(1 << world) for world, event in enumerate(forbidden)}
        happens = [0] * system.size
        grows = True
        while grows:
            grows = False
            for event in self._trail:
                worlds = open_.get(event, full)
                for each in system.before[event]:
                    worlds &= happens[each]
                if event in system.limits:
                    worlds &= _granted(*system.limits[event], happens, full)
                grows |= worlds != happens[event]
                happens[event] = worlds
            grows &= bool(system.thresholds)  # without them, one pass in order is the fixpoint
        return happens


def _granted(threshold: Threshold, position: int, happens: list[int], full: int) -> int:
    """Return the worlds in which a send has its credit."""
    if position < threshold.capacity:
        return full
    missing = [0] * threshold.capacity  # the worlds in which more than k arrivals are missing
    for event in threshold.arrived[:position]:
        lost = full & ~happens[event]
        if lost:
            for k in range(threshold.capacity - 1, 0, -1):
                missing[k] |= missing[k - 1] & lost
            missing[0] |= lost
    return full & ~missing[-1]
