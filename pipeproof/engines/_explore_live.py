"""What is live on a rank at most, by the least states that reach what puts something there."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from pipeproof.engines._explore_guards import System
from pipeproof.semantics.found import Holds

__all__ = ["Candidate", "Watched"]


class Candidate(NamedTuple):
    """A start on a rank at which more than the bound may be live, the weight, and a state.

    The state is the least that holds the start, if every credit is there.
    """

    rank: int
    start: int
    weight: int
    state: frozenset[int]


class Watched:
    """Holds, weighed in states."""

    def __init__(self, system: System, holds: Holds) -> None:
        self._system = system
        gates = system.size - system.events
        self._chain: list[int] = [*system.model.frame.chain.tolist(), *([-1] * gates)]
        self._bound = holds.bound if holds.bound is not None else 0
        self._weight: list[int] = [int(each) for each in holds.weight]
        self._of_rank: dict[int, dict[int, list[int]]] = {}  # holds of each rank by their start
        starts = zip(holds.rank.tolist(), holds.start.tolist(), strict=True)
        for hold, (rank, start) in enumerate(starts):
            self._of_rank.setdefault(rank, {}).setdefault(start, []).append(hold)
        self._ends: dict[int, list[int]] = {}
        self._open = [-1] * len(self._weight)  # what has no end is never over
        for event, hold in set(zip(holds.ends.tolist(), holds.of.tolist(), strict=True)):
            self._open[hold] = max(self._open[hold], 0) + 1
            self._ends.setdefault(event, []).append(hold)

    def candidates(self) -> Iterator[Candidate]:
        """Yield the starts at which more than the bound may be live.

        The least states that reach the starts of one program only grow; one pass of closures does.
        Where guards run in a circle, what stands behind a start on its own program is not over.
        """
        for rank, holds in sorted(self._of_rank.items()):
            state: set[int] = set()
            left, begun, live = self._open.copy(), set[int](), 0
            behind: list[int] = []
            for start, starting in sorted(holds.items()):
                behind += _grow(self._system, state, start)
                over = [e for e in behind if self._chain[e] != rank or e <= start]
                behind = [e for e in behind if self._chain[e] == rank and e > start]
                for event in over:
                    for hold in self._ends.get(event, ()):
                        left[hold] -= 1
                        live -= self._weight[hold] * (left[hold] == 0 and hold in begun)
                begun.update(starting)
                live += sum(self._weight[hold] for hold in starting if left[hold])
                if live > self._bound:
                    yield Candidate(rank, start, live, frozenset(state))

    def weigh(self, rank: int, start: int, events: Collection[int]) -> int:
        """Return what of the holds up to `start` is live on a rank once `events` have happened."""
        ended = self._open.copy()
        for event in events:
            for hold in self._ends.get(event, ()):
                ended[hold] -= 1
        begun = (h for at, holds in self._of_rank[rank].items() if at <= start for h in holds)
        return sum(self._weight[hold] for hold in begun if ended[hold])

    def exceeds(self, weight: int) -> bool:
        """Whether that is more than the bound."""
        return weight > self._bound


def _grow(system: System, state: set[int], event: int) -> Iterator[int]:
    """Let `event` and all that the guards put before it be part of a state; yield what is new."""
    if event in state:
        return
    state.add(event)
    front = [event]
    while front:
        each = front.pop()
        yield each
        for before in system.before[each]:
            if before not in state:
                state.add(before)
                front.append(before)
