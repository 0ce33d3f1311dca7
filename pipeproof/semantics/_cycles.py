"""Strong components and shortest cycles of small graphs given as lists of successors."""

from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

__all__ = ["Around", "shortest_cycle", "strong_components"]

Place = tuple[int, int]
_NOWHERE = (2**62, 0)


def strong_components(after: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Return the strongly connected components that hold a cycle (Tarjan 1972, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[frozenset[int]] = []
    for root in range(len(after)):
        if root in index:
            continue
        work = [(root, iter(after[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(after[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    part = frozenset(stack[at:])
                    del stack[at:]
                    on_stack -= part
                    if len(part) > 1 or node in after[node]:
                        found.append(part)
    return found


class Around(NamedTuple):
    """What a shortest cycle is looked for in: successors, places, and links that do not count.

    `place(node)` is None for a node that costs nothing. A cycle needs a link outside `inner`.
    """

    after: Callable[[int], Sequence[int]]
    place: Callable[[int], Place | None]
    inner: AbstractSet[tuple[int, int]]


def shortest_cycle(graph: Around, part: frozenset[int]) -> list[int]:
    """Return the cycle within `part` with the fewest places, then the lowest ones.

    Nodes at one place, and nodes without a place, cost nothing more. Empty if there is none.
    """
    starts = sorted((graph.place(node) or _NOWHERE, node) for node in part)
    best: tuple[int, list[Place], list[int]] | None = None
    for lowest, start in starts:
        path = _around(graph, part, start, lowest, None if best is None else best[0])
        if path:
            places = sorted({p for node in path if (p := graph.place(node)) is not None})
            if best is None or (len(places), places) < best[:2]:
                best = (len(places), places, path)
    return best[2] if best else []


def _around(
    graph: Around, part: frozenset[int], start: int, lowest: Place, most: int | None
) -> list[int]:
    """Return a cheapest way from `start` back to it over places not below `lowest`.

    A state is a node and whether a link that counts has been taken.
    """
    first = (start, False)
    cost, came = {first: 0}, {first: first}
    todo = deque([first])
    while todo:
        state = todo.popleft()
        node, counted = state
        if most is not None and cost[state] > most:
            break
        if node == start and counted:
            return _walked(came, state, first)
        for other in sorted(graph.after(node), key=lambda n: graph.place(n) or _NOWHERE):
            there = graph.place(other)
            if other not in part or (there or lowest) < lowest:
                continue
            then = (other, counted or (node, other) not in graph.inner)
            step = 0 if there is None or there in (graph.place(node), lowest) else 1
            if then not in cost or cost[state] + step < cost[then]:
                cost[then], came[then] = cost[state] + step, state
                (todo.append if step else todo.appendleft)(then)
    return []


def _walked(
    came: dict[tuple[int, bool], tuple[int, bool]], last: tuple[int, bool], first: tuple[int, bool]
) -> list[int]:
    path = [came[last]]
    while path[-1] != first:
        path.append(came[path[-1]])
    return [node for node, _ in reversed(path)]
