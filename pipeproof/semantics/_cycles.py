"""Strong components and shortest cycles of small graphs given as lists of successors."""

from collections import deque
from collections.abc import Callable, Sequence

__all__ = ["shortest_cycle", "strong_components"]

Place = tuple[int, int]


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


def shortest_cycle(
    after: Callable[[int], Sequence[int]], part: frozenset[int], place: Callable[[int], Place | None]
) -> list[int]:
    """Return the cycle within `part` with the fewest places, then the lowest ones.

    Nodes at one place, and nodes without a place, cost nothing more. Of cycles with equally many
    places the one whose lowest place is lowest is taken, then the one whose next is.
    """
    starts = sorted((place(node) or (2**62, 0), node) for node in part)
    best: tuple[int, list[Place], list[int]] | None = None
    for lowest, start in starts:
        path = _around(after, part, place, start, lowest, None if best is None else best[0])
        if path:
            places = sorted({p for node in path if (p := place(node)) is not None})
            if best is None or (len(places), places) < best[:2]:
                best = (len(places), places, path)
    return best[2] if best else []


def _around(
    after: Callable[[int], Sequence[int]],
    part: frozenset[int],
    place: Callable[[int], Place | None],
    start: int,
    lowest: Place,
    most: int | None,
) -> list[int]:
    """Return a cheapest way from `start` back to it over places not below `lowest`."""
    cost = {start: 0}
    came: dict[int, int] = {}
    todo = deque([start])
    end = -1
    while todo:
        node = todo.popleft()
        if most is not None and cost[node] > most:
            break
        for other in sorted(after(node), key=lambda n: place(n) or (2**62, 0)):
            if other not in part or (place(other) or lowest) < lowest:
                continue
            if other == start:
                if end < 0 or cost[node] < cost[end]:
                    end = node
                continue
            step = 0 if place(other) is None or place(other) in (place(node), lowest) else 1
            if other not in cost or cost[node] + step < cost[other]:
                cost[other] = cost[node] + step
                came[other] = node
                (todo.append if step else todo.appendleft)(other)
    if end < 0:
        return []
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]
