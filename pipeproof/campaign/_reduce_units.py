"""What of a schedule stands and falls together: both ends of a message, all of a collective."""

from collections import defaultdict
from collections.abc import Hashable

from pipeproof.campaign._draft import Draft, Operation, Spot
from pipeproof.campaign._reduce import remove

__all__ = ["Unit", "bundles", "single", "units", "without"]

Unit = tuple[Spot, ...]


def units(draft: Draft) -> list[Unit]:
    """Return all operations but waits, in units: messages, collectives and signals whole.

    The k-th send of a value is of the k-th receive of it; likewise for signals and collectives.
    """
    counted: dict[Hashable, int] = defaultdict(int)
    found: dict[Hashable, list[Spot]] = defaultdict(list)
    for spot, each in draft.every():
        if each.kind == "WAIT":
            continue
        key = _shared(draft, spot, each)
        if key is None:
            found[spot].append(spot)
            continue
        side = (key, each.is_send, spot.rank)
        found[key, counted[side]].append(spot)
        counted[side] += 1
    return [tuple(spots) for spots in found.values()]


def _shared(draft: Draft, spot: Spot, each: Operation) -> Hashable:
    if each.is_send or each.is_receive:
        return ("message", *draft.message(spot, each))
    if each.kind in ("SIGNAL", "AWAIT"):
        peer = int(each.attributes.get("to") or each.attributes["from"])
        ends = (spot.rank, peer) if each.kind == "SIGNAL" else (peer, spot.rank)
        return ("signal", *ends)
    if each.kind == "COLL":
        return ("collective", each.words[1], each.attributes.get("comm", ""))
    if each.kind in ("TIE", "NORM"):
        return (each.kind, each.attributes["ranks"], each.attributes.get("param", ""))
    return None


def single(draft: Draft) -> list[Unit]:
    """Return every operation alone."""
    return [(spot,) for spot, _ in draft.every()]


def bundles(draft: Draft) -> list[Unit]:
    """Return larger units: all of one kind, of one stage and kind, of one stage and microbatch."""
    found: dict[Hashable, list[Spot]] = defaultdict(list)
    for spot, each in draft.every():
        kind = each.kind.partition("_")[0]
        found["kind", kind].append(spot)
        found["stage and kind", each.stage, kind].append(spot)
        found["stage and microbatch", each.stage, each.microbatch].append(spot)
    return [tuple(spots) for spots in found.values() if len(spots) > 1]


def without(draft: Draft, gone: list[Unit]) -> Draft:
    """Return a schedule without some of its units."""
    other = draft.copy()
    remove(other, [spot for unit in gone for spot in unit])
    return other
