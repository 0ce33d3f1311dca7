"""The guards of a graph event by event, walked backwards."""

import heapq
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray
from pipeproof.semantics.model import Graph, Model

__all__ = ["Guards", "Threshold", "number_of_guards"]


class Threshold(NamedTuple):
    """At least `least` of `arrivals` come before an event."""

    arrivals: tuple[int, ...]
    least: int


class Guards:
    """What each event of a graph waits for: all of some events, and enough of some others."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        order = np.lexsort((graph.before, graph.after))
        self._previous = graph.before[order]
        self._bounds = np.searchsorted(graph.after[order], np.arange(graph.size + 1))
        self.thresholds = {
            int(credit.drained[n]): Threshold(
                tuple(credit.arrived[:n].tolist()), n - credit.capacity + 1
            )
            for credit in graph.credits
            for n in range(credit.capacity, len(credit.drained))
        }

    def of(self, event: int) -> list[int]:
        """Return the events that one waits for, in ascending order, without repetition."""
        low, high = self._bounds[event], self._bounds[event + 1]
        found: list[int] = self._previous[low:high].tolist()
        return list(dict.fromkeys(found))

    def needed(self, events: IntArray, moment: IntArray | None = None) -> npt.NDArray[np.bool_]:
        """Return what comes before `events`, shape `(size,)`, along all that they wait for.

        With the `moment` of each event in an execution, of what a threshold counts the first that
        are enough; without it thresholds are left out.
        """
        seen = np.zeros(self.graph.size, np.bool_)
        front = [int(event) for event in events]
        while front:
            event = front.pop()
            back = self.of(event)
            if moment is not None and event in self.thresholds:
                arrivals, least = self.thresholds[event]
                there = [each for each in arrivals if moment[each] >= 0]
                back += sorted(there, key=lambda each: int(moment[each]))[:least]
            for each in back:
                if not seen[each]:
                    seen[each] = True
                    front.append(each)
        return seen

    def shortest(
        self, before: int, after: int, chain: IntArray
    ) -> tuple[tuple[int, int], ...] | None:
        """Return a path of guards from `before` to `after`; None where there is none.

        Of all paths one with the fewest guards between different chains, of these one with the
        fewest guards.
        """
        best = {after: (0, 0)}
        towards: dict[int, int] = {}
        heap = [(0, 0, after)]
        while heap:
            crossed, steps, event = heapq.heappop(heap)
            if event == before:
                break
            if (crossed, steps) > best[event]:
                continue
            for each in self.of(event):
                cost = (crossed + (not _on_one(chain, each, event)), steps + 1)
                if each not in best or cost < best[each]:
                    best[each], towards[each] = cost, event
                    heapq.heappush(heap, (*cost, each))
        if before not in best:
            return None
        path = [before]
        while path[-1] != after:
            path.append(towards[path[-1]])
        return tuple(pairwise(path))


def _on_one(chain: IntArray, left: int, right: int) -> bool:
    """Whether two events stand on one rank's program; gates stand on none."""
    inside = left < len(chain) and right < len(chain)
    return bool(inside and chain[left] == chain[right] >= 0)


def number_of_guards(model: Model) -> int:
    """Count the guards of both orders; a threshold has as many as it may count arrivals."""
    both = (model.progress, model.happens_before)
    thresholds = sum(len(credit.arrived) ** 2 for graph in both for credit in graph.credits)
    return sum(len(graph.after) for graph in both) + thresholds
