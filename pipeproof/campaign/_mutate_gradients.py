"""Mutations of gradients: what is added, how much it counts, reductions, norms, ties."""

from fractions import Fraction
from random import Random

from pipeproof.campaign._draft import Draft, Line, Operation, Spot
from pipeproof.campaign._mutate_order import choose, take_out
from pipeproof.campaign._mutate_weights import closing, last_of_window

__all__: list[str] = []


def _contributions(draft: Draft) -> list[tuple[Spot, Operation]]:
    every = draft.every("B", "W")
    return [(spot, each) for spot, each in every if each.kind in closing(draft, each.stage)]


def _one_of(rng: Random, draft: Draft) -> tuple[Spot, Operation] | None:
    found = _contributions(draft)
    return rng.choice(found) if found else None


def wrong_coefficient(rng: Random, draft: Draft) -> bool:
    """A microbatch enters the gradient with another coefficient."""
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    each = chosen[1]
    number = Fraction(each.attributes.get("c", "1"))
    factor = rng.choice([Fraction(1, 2), Fraction(2), Fraction(2, 3)])
    each.attributes["c"] = str(number * factor if number else Fraction(1))
    return True


def scale_again(rng: Random, draft: Draft) -> bool:
    """A gradient is multiplied once more, or once less."""
    scales = [spot for spot, _ in draft.every("SCALE")]
    if scales and rng.random() < 0.5:  # noqa: PLR2004  either way
        take_out(draft, rng.choice(scales))
        return True
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    spot, each = chosen
    factor = rng.choice(["1/2", "2", "1/3"])
    line = Line([Operation([f"{each.stage}SCALE"], {"by": factor})])
    draft.programs[spot.rank].insert(spot.position + 1, line)
    return True


def assign_for_add(rng: Random, draft: Draft) -> bool:
    """A contribution overwrites the gradient to which it should be added."""
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    chosen[1].attributes["mode"] = "assign"
    return True


def clear_between(rng: Random, draft: Draft) -> bool:
    """A gradient is cleared after something was added to it."""
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    spot, each = chosen
    line = Line([Operation([f"{each.stage}ZERO"])])
    draft.programs[spot.rank].insert(spot.position + 1, line)
    return True


def repeat_contribution(rng: Random, draft: Draft) -> bool:
    """A contribution is added twice."""
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    spot, each = chosen
    draft.programs[spot.rank].insert(spot.position + 1, Line([each.copy()]))
    return True


def leave_stale(rng: Random, draft: Draft) -> bool:
    """A gradient holds leftovers when the first contribution is added, or is not cleared."""
    clears = [
        spot
        for spot, each in draft.every("ZERO")
        if any(other.stage == each.stage for _, other in draft.every("STALE"))
    ]
    if clears:
        take_out(draft, rng.choice(clears))
        return True
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    spot, each = chosen
    line = Line([Operation([f"{each.stage}STALE"])])
    draft.programs[spot.rank].insert(spot.position, line)
    return True


def reduce_early(rng: Random, draft: Draft) -> bool:
    """A gradient is reduced before the last contribution."""
    if draft.every("REDUCE"):
        return last_of_window(rng, draft, "REDUCE")
    chosen = _one_of(rng, draft)
    if chosen is None:
        return False
    spot, each = chosen
    line = Line([Operation([f"{each.stage}REDUCE"])])
    draft.programs[spot.rank].insert(spot.position, line)
    return True


def drop_reduction(rng: Random, draft: Draft) -> bool:
    """A gradient is not reduced."""
    spot = choose(rng, [spot for spot, _ in draft.every("REDUCE")])
    if spot is None:
        return False
    handle = draft.at(spot).own.get("h")
    take_out(draft, spot)
    if handle is not None:
        program = draft.programs[spot.rank]
        program[:] = [line for line in program if line.first.words != ["WAIT", handle]]
    return True


def reduce_again(rng: Random, draft: Draft) -> bool:
    """A gradient is reduced twice."""
    spot = choose(rng, [spot for spot, _ in draft.every("REDUCE")])
    if spot is None:
        return False
    again = draft.at(spot).operations[spot.member].copy()
    again.attributes.pop("h", None)
    draft.programs[spot.rank].insert(spot.position + 1, Line([again]))
    return True


def drop_tie(rng: Random, draft: Draft) -> bool:
    """Copies of one parameter are not summed, or before the last contribution to one."""
    ties = draft.every("TIE")
    if not ties:
        return False
    if rng.random() < 0.5 and last_of_window(rng, draft, "TIE"):  # noqa: PLR2004  either way
        return True
    _, chosen = rng.choice(ties)
    gone = chosen.attributes["ranks"]
    for spot, each in reversed(ties):
        if each.attributes["ranks"] == gone:
            take_out(draft, spot)
    return True


def partial_norm(rng: Random, draft: Draft) -> bool:
    """A norm is taken over fewer ranks, or before the last contribution."""
    found = draft.every("NORM")
    if not found:
        return False
    if rng.random() < 0.5 and last_of_window(rng, draft, "NORM"):  # noqa: PLR2004  either way
        return True
    spot, each = rng.choice(found)
    ranks = each.attributes["ranks"].split(",")
    others = [rank for rank in ranks if int(rank) != spot.rank]
    if not others:
        take_out(draft, spot)
        return True
    ranks.remove(rng.choice(others))
    each.attributes["ranks"] = ",".join(ranks)
    return True


def close_early(rng: Random, draft: Draft) -> bool:
    """The mark that closes the accumulation window is wrong."""
    marked = [each for _, each in draft.every("B", "W") if "last" in each.attributes]
    if marked:
        each = rng.choice(marked)
        each.attributes["last"] = "no" if each.attributes["last"] == "yes" else "yes"
        return True
    found = _contributions(draft)
    if not found:
        return False
    spot, each = rng.choice(found)
    for _, other in found:
        if other.stage == each.stage:
            other.attributes["last"] = "no"
    draft.at(spot).operations[spot.member].attributes["last"] = "yes"
    return True
