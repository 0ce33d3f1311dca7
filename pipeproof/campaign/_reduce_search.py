"""The search for a smaller schedule: what is taken out, in which order, until nothing goes."""

from collections.abc import Callable, Iterator
from itertools import combinations

from pipeproof.campaign._draft import Draft
from pipeproof.campaign._reduce_ids import fewer_microbatches, fewer_steps
from pipeproof.campaign._reduce_keys import fewer_attributes, fewer_keys
from pipeproof.campaign._reduce_ranks import fewer_ranks, fewer_stages
from pipeproof.campaign._reduce_units import Unit, bundles, single, units, without

__all__ = ["settled"]

Holds = Callable[[Draft], bool]
_Way = Callable[[Draft], Iterator[Draft]]

_PAIRS = 12  # so many units are also taken out two at a time
_LARGE: tuple[_Way, ...] = (fewer_ranks, fewer_stages, fewer_microbatches, fewer_steps)
_SMALL: tuple[_Way, ...] = (fewer_attributes, fewer_keys)


def settled(draft: Draft, holds: Holds) -> Draft:
    """Return a schedule that holds, and from which nothing can be taken alone.

    A whole schedule becomes a fragment on the way, so that what is left out is not asked for, and
    is whole again where that holds too.
    """
    best, before = draft, ""
    while before != best.words():
        before = best.words()
        best = _as_fragment(best, holds, fragment=True)
        for way in _LARGE:
            best = _greedy(best, way, holds)
        best = _fewer_instructions(best, holds)
        for way in _SMALL:
            best = _greedy(best, way, holds)
    if best.fragment and not draft.fragment:
        best = _as_fragment(best, holds, fragment=False)
    return best


def _as_fragment(draft: Draft, holds: Holds, *, fragment: bool) -> Draft:
    if draft.fragment == fragment:
        return draft
    other = draft.copy()
    other.fragment = fragment
    return other if holds(other) else draft


def _greedy(draft: Draft, way: _Way, holds: Holds) -> Draft:
    """Take what goes; after each, go on behind where it stood."""
    tried = 0
    while True:
        for at, candidate in enumerate(way(draft)):
            if at >= tried and holds(candidate):
                draft, tried = candidate, at
                break
        else:
            return draft


def _fewer_instructions(draft: Draft, holds: Holds) -> Draft:
    for way in (bundles, units, single):
        size = len(units(draft)) // 2 if way is units else 1
        while size:
            draft = _in_pieces(draft, way, size, holds)
            size //= 2
    return _in_pairs(draft, holds)


def _in_pieces(draft: Draft, way: Callable[[Draft], list[Unit]], size: int, holds: Holds) -> Draft:
    """Take out as many units as `size` says at once, one piece after another."""
    at = 0
    while at < len(every := way(draft)):
        candidate = without(draft, every[at : at + size])
        if holds(candidate):
            draft = candidate
        else:
            at += size
    return draft


def _in_pairs(draft: Draft, holds: Holds) -> Draft:
    """Take out two units at a time, where there are few."""
    while len(every := units(draft)) <= _PAIRS:
        for pair in combinations(every, 2):
            candidate = without(draft, list(pair))
            if holds(candidate):
                draft = candidate
                break
        else:
            return draft
    return draft
