"""Mutations of recomputation, checkpoints and restarts."""

from random import Random

from pipeproof.campaign._draft import Draft
from pipeproof.campaign._mutate_order import choose, move

__all__: list[str] = []


def recompute_other(rng: Random, draft: Draft) -> bool:
    """A recomputation starts from another state than its forward."""
    found = [each for _, each in draft.every("R")]
    if not found:
        return False
    each = rng.choice(found)
    key = rng.choice(["rng", "ctx", "state"])
    if key in each.attributes and rng.random() < 0.5:  # noqa: PLR2004  either way
        del each.attributes[key]
    else:
        each.attributes[key] = f"{each.attributes.get(key, '')}other"
    return True


def recompute_version(rng: Random, draft: Draft) -> bool:
    """A recomputation reads another version of the weights than its forward."""
    found = [each for _, each in draft.every("R")]
    if not found:
        return False
    each = rng.choice(found)
    version = each.attributes.pop("w", None)
    others = [str(n) for n in range((draft.steps or 1) + 1) if str(n) != version]
    if version is None or rng.random() < 0.5:  # noqa: PLR2004  either way
        each.attributes["w"] = rng.choice(others)
    return True


def reorder_state(rng: Random, draft: Draft) -> bool:
    """Two forwards take a register in the other order."""
    found = []
    for spot, each in draft.every("F"):
        program = draft.programs[spot.rank]
        later = [
            n
            for n in range(spot.position + 1, len(program))
            if program[n].first.kind == "F" and program[n].first.stage == each.stage
        ]
        found += [(program, spot.position, n) for n in later[:1] if "state" in each.attributes]
    if not found:
        return False
    program, one, other = rng.choice(found)
    move(program, other, one)
    return True


def restore_less(rng: Random, draft: Draft) -> bool:
    """Less is saved or restored than what was in use."""
    found = [*draft.every("RESTORE"), *(each for each in draft.every("SAVE") if each[1].attributes)]
    if not found:
        return False
    _, each = rng.choice(found)
    if each.kind == "RESTORE":
        each.attributes["have"] = f"{each.attributes['want']}.less"
        return True
    saved = each.attributes["async"].split(",")
    saved.remove(rng.choice(saved))
    each.attributes.pop("async")
    each.attributes |= {"async": ",".join(saved)} if saved else {}
    return True


def resume_elsewhere(rng: Random, draft: Draft) -> bool:
    """A restart goes on elsewhere than was saved, or than the data stands."""
    found = draft.every("RESUME", "CONSUME")
    if not found:
        return False
    _, each = rng.choice(found)
    if each.kind == "RESUME":
        each.attributes["at"] = str(int(each.attributes["at"]) + rng.randint(1, 3))
    else:
        each.words[1] = str(int(each.words[1]) + rng.randint(1, 3))
    return True


def save_early(rng: Random, draft: Draft) -> bool:
    """A checkpoint is taken before all is done."""
    found = [spot for spot, _ in draft.every("SAVE") if spot.position]
    spot = choose(rng, found)
    if spot is None:
        return False
    move(draft.programs[spot.rank], spot.position, rng.randrange(spot.position))
    return True
