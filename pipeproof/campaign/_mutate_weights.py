"""Mutations of the weights that operations read, and of updates."""

from random import Random

from pipeproof.campaign._draft import Draft, Line, Operation, Spot
from pipeproof.campaign._mutate_order import move, take_out
from pipeproof.campaign._mutate_storage import lower_a_number

__all__ = ["closing", "last_of_window", "window"]

_READERS = ("F", "B", "I", "W", "R")


def closing(draft: Draft, stage: int) -> tuple[str, ...]:
    """Return what adds to the gradient of a stage."""
    split = any(each.stage == stage for _, each in draft.every("W"))
    return ("W",) if split else ("B",)


def window(draft: Draft, rank: int, stage: int, position: int) -> list[int]:
    """Return where a stage's contributions stand before a position, since its last update."""
    program = draft.programs[rank]
    kinds = closing(draft, stage)
    found: list[int] = []
    for n, line in enumerate(program[:position]):
        for each in line.operations:
            if each.stage == stage and each.kind in ("STEP", "SKIP"):
                found = []
            elif each.stage == stage and each.kind in kinds:
                found.append(n)
    return found


def last_of_window(rng: Random, draft: Draft, *kinds: str) -> bool:
    """Move an instruction before the last contribution of its window, at least."""
    found = []
    for spot, each in draft.every(*kinds):
        earlier = window(draft, spot.rank, each.stage, spot.position)
        found += [(spot, n) for n in earlier[-2:]]
    if not found:
        return False
    spot, target = rng.choice(found)
    move(draft.programs[spot.rank], spot.position, target)
    return True


def mixed_version(rng: Random, draft: Draft) -> bool:
    """One operation reads another version of the weights than the others of its microbatch."""
    found = draft.every(*_READERS)
    if not found:
        return False
    _, each = rng.choice(found)
    version = each.attributes.get("w", "latest")
    steps = draft.steps or 1
    others = [str(n) for n in range(steps + 1)]
    if each.kind != "F":
        others += ["latest", "stash", "none"] if version != "latest" else []
    others = [other for other in others if other != version]
    each.attributes["w"] = rng.choice(others)
    each.attributes.pop("wv", None)
    return True


def drop_stash(rng: Random, draft: Draft) -> bool:
    """An operation reads the newest version instead of the one that was kept for it."""
    found = [each for _, each in draft.every(*_READERS) if {"w", "wv"} & each.attributes.keys()]
    if not found:
        return False
    each = rng.choice(found)
    each.attributes.pop("w", None)
    each.attributes.pop("wv", None)
    return True


def keep_fewer(rng: Random, draft: Draft) -> bool:
    """One version of the weights less is kept."""
    storage = draft.described.get("storage")
    pool = storage.get("weights") if isinstance(storage, dict) else None
    return pool is not None and lower_a_number(rng, pool, 1)


def skip_gather(rng: Random, draft: Draft) -> bool:
    """A cached copy of the weights is not filled again after an update."""
    gathers = [(spot, "") for spot, _ in draft.every("GATHER")]
    fills = [(spot, "fill") for spot, each in draft.every("F") if "fill" in each.attributes]
    found = [*gathers, *fills]
    if not found:
        return False
    spot, key = rng.choice(found)
    if key:
        del draft.at(spot).operations[spot.member].attributes[key]
    else:
        take_out(draft, spot)
    return True


def update_early(rng: Random, draft: Draft) -> bool:
    """An update comes before the last contribution to what it uses."""
    if draft.every("STEP"):
        return last_of_window(rng, draft, "STEP")
    found = [
        spot for spot, each in draft.every("B", "W") if each.kind in closing(draft, each.stage)
    ]
    if not found:
        return False
    spot = rng.choice(found)
    stage = draft.at(spot).operations[spot.member].stage
    step = Line([Operation([f"{stage}STEP"])])
    draft.programs[spot.rank].insert(spot.position, step)
    return True


def read_across_update(rng: Random, draft: Draft) -> bool:
    """An operation moves to the other side of an update of its stage."""
    found: list[tuple[Spot, int]] = []
    for spot, each in draft.every("STEP", "COMMIT", "ROLLBACK"):
        program = draft.programs[spot.rank]
        for n, line in enumerate(program):
            if any(one.stage == each.stage and one.kind in _READERS for one in line.operations):
                found.append((spot, n))
    if not found:
        return False
    spot, reader = rng.choice(found)
    target = spot.position if reader > spot.position else spot.position + 1
    move(draft.programs[spot.rank], reader, target)
    return True


def withdraw(rng: Random, draft: Draft) -> bool:
    """A version is taken back that others commit, or is committed later than it is used."""
    found = draft.every("COMMIT", "ROLLBACK")
    if not found:
        return False
    spot, each = rng.choice(found)
    program = draft.programs[spot.rank]
    if rng.random() < 0.5 or spot.position + 1 == len(program):  # noqa: PLR2004  either way
        word = "ROLLBACK" if each.kind == "COMMIT" else "COMMIT"
        each.words[0] = f"{each.stage}{word}"
    else:
        move(program, spot.position, rng.randint(spot.position + 2, len(program)))
    return True
