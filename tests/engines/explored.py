"""All states of a small model, found by trying every event in every state."""

from pipeproof.semantics.found import Holds
from pipeproof.semantics.model import Graph, Model

__all__ = ["most_live", "ordered", "states"]


def states(graph: Graph, limit: int) -> set[int] | None:
    """Every state that executions of a graph come to, events as bits; None beyond a limit."""
    waits = [0] * graph.size
    for before, after in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
        waits[after] |= 1 << before
    credited = {
        int(send): (credit.arrived[:n].tolist(), n - credit.capacity)
        for credit in graph.credits
        for n, send in enumerate(credit.drained)
    }
    able = [event for event in range(graph.size) if not graph.never[event]]
    found, front = {0}, [0]
    while front:
        state = front.pop()
        for event in able:
            if state >> event & 1 or state & waits[event] != waits[event]:
                continue
            arrivals, lacking = credited.get(event, ([], -1))
            if sum(state >> each & 1 for each in arrivals) <= lacking:
                continue
            after = state | 1 << event
            if after not in found:
                found.add(after)
                front.append(after)
        if len(found) > limit:
            return None
    return found


def ordered(found: set[int], before: int, after: int) -> bool | None:
    """Whether one event comes before another in every state; None if the other never happens."""
    there = [state for state in found if state >> after & 1]
    return all(state >> before & 1 for state in there) if there else None


def most_live(made: Model, holds: Holds, found: set[int], event: int) -> int | None:
    """The most that the rank of an event holds when it happens; None if it never does."""
    rank = made.frame.chain[event]
    ends: dict[int, int] = {}
    for hold, end in zip(holds.of.tolist(), holds.ends.tolist(), strict=True):
        ends[hold] = ends.get(hold, 0) | 1 << end
    begun = [
        k for k in range(len(holds.start)) if holds.rank[k] == rank and holds.start[k] <= event
    ]
    weights = {k: int(holds.weight[k]) for k in begun}
    return max(
        (
            sum(weights[k] for k in begun if k not in ends or state & ends[k] != ends[k])
            for state in found
            if state >> event & 1
        ),
        default=None,
    )
