"""Moments that need no variable: of what waits for one event only."""

from collections.abc import Callable, Iterable

__all__ = ["START", "rooted"]

START = -1  # the root of events whose moment is known


def rooted(events: Iterable[int], only: Callable[[int], int | None]) -> dict[int, tuple[int, int]]:
    """Return for each event another and how long after it it happens.

    The moment of what waits for one event only is the next one after it.

    Args:
        events: the events.
        only: the one event that an event waits for, START for none, None for several.
    """
    roots: dict[int, tuple[int, int]] = {}
    for event in events:
        path = {event: None}
        last = event
        while last not in roots:
            one = only(last)
            if one is None or one in path:
                roots[last] = (last, 0)
            elif one == START:
                roots[last] = (START, 0)
            else:
                path[one], last = None, one
        root, offset = roots[last]
        for further, each in enumerate(reversed(path)):
            roots[each] = (root, offset + further)
    return roots
