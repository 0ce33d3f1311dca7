"""Mutations of storage and of what may be live at once."""

import re
from itertools import pairwise
from random import Random

from pipeproof.campaign._draft import Draft, Line, Operation, Spot, Tree, numbers
from pipeproof.campaign._mutate_order import choose, take_out

__all__ = ["lower_a_number"]

_NAMES = ("buf", "in", "out", "aux", "keep", "gin", "gout", "label")
_OPERANDS = ("FREE", "WRITE", "USE")
_AMOUNT = re.compile(r"[0-9]+")


def _named(draft: Draft) -> list[tuple[Spot, Operation, str]]:
    """Return where storage is named: the place, the operation, the attribute (or `""`)."""
    found = [
        (spot, each, key)
        for spot, each in draft.every()
        for key in _NAMES
        if key in each.attributes
    ]
    return [*found, *((spot, each, "") for spot, each in draft.every(*_OPERANDS))]


def _name(each: Operation, key: str) -> str:
    return each.attributes[key] if key else each.words[1]


def _rename(each: Operation, key: str, name: str) -> None:
    if key:
        each.attributes[key] = name
    else:
        each.words[1] = name


def lower_a_number(rng: Random, holder: Tree, least: int) -> bool:
    """Lower one of the whole numbers of a key by one, none below `least`."""
    found = [(number, put) for number, put in numbers(holder) if number > least]
    if not found:
        return False
    number, put = rng.choice(found)
    put(str(number - 1))
    return True


def shrink_pool(rng: Random, draft: Draft) -> bool:
    """A pool of storage has one slot less."""
    pools = draft.described.get("storage")
    if not isinstance(pools, dict):
        return False
    names = [name for name in pools if name != "weights" and "slots" in pools[name]]
    return bool(names) and lower_a_number(rng, pools[rng.choice(names)], 1)


def shrink_bound(rng: Random, draft: Draft) -> bool:
    """A bound on what is live, on memory, on age or on time is lower."""
    bounds = draft.described.get("bounds")
    if not isinstance(bounds, dict) or not bounds:
        return False
    key = rng.choice(list(bounds))
    found = _AMOUNT.match(str(bounds[key]))
    if found is None or int(found[0]) == 0:
        return False
    bounds[key] = f"{int(found[0]) - 1}{str(bounds[key])[found.end() :]}"
    return True


def free_early(rng: Random, draft: Draft) -> bool:
    """Storage is given back while something may still use it."""
    found = []
    for spot, each, key in _named(draft):
        if each.kind != "FREE":
            found.append((spot, _name(each, key)))
    if not found:
        return False
    spot, name = rng.choice(found)
    behind = rng.random() < 0.7  # noqa: PLR2004  mostly after something was put there
    program = draft.programs[spot.rank]
    program.insert(spot.position + behind, Line([Operation(["FREE", name])]))
    return True


def share_storage(rng: Random, draft: Draft) -> bool:
    """Two names of storage of a rank become one."""
    pairs = []
    for rank in range(len(draft.programs)):
        names = sorted({_name(each, key) for spot, each, key in _named(draft) if spot.rank == rank})
        pairs += [(rank, one, other) for one in names for other in names if one < other]
    if not pairs:
        return False
    rank, one, other = rng.choice(pairs)
    for spot, each, key in _named(draft):
        if spot.rank == rank and _name(each, key) == other:
            _rename(each, key, one)
    return True


def read_other(rng: Random, draft: Draft) -> bool:
    """An instruction names another storage of its rank."""
    found = _named(draft)
    if not found:
        return False
    spot, each, key = rng.choice(found)
    names = {_name(one, of) for at, one, of in found if at.rank == spot.rank} - {_name(each, key)}
    _rename(each, key, rng.choice([*sorted(names), "nowhere"]))
    return True


def name_one_storage(rng: Random, draft: Draft) -> bool:
    """Two forwards of a rank keep what their backwards need in one storage."""
    found = []
    for rank in range(len(draft.programs)):
        here = [
            (spot, each)
            for spot, each in draft.every("F")
            if spot.rank == rank and not {"keep", "out"} & each.attributes.keys()
        ]
        found += list(pairwise(here))
    if not found:
        return False
    key = rng.choice(["keep", "out"])
    for _, each in rng.choice(found):
        each.attributes[key] = "one"
    return True


def hold_more(rng: Random, draft: Draft) -> bool:
    """More is held than is let go, or what is held is never let go."""
    held = draft.every("HOLD", "DROP")
    if not held:
        return False
    spot, each = rng.choice(held)
    count = int(each.words[1])
    if each.kind == "HOLD" or count > 1:
        each.words[1] = str(count + 1 if each.kind == "HOLD" else count - 1)
        return True
    take_out(draft, spot)
    return True


def hold_for_ever(rng: Random, draft: Draft) -> bool:
    """Something is held that nothing lets go."""
    spots = [
        Spot(rank, position, 0)
        for rank, program in enumerate(draft.programs)
        for position in range(len(program))
    ]
    spot = choose(rng, spots)
    if spot is None:
        return False
    draft.programs[spot.rank].insert(spot.position, Line([Operation(["HOLD", "1"])]))
    return True
