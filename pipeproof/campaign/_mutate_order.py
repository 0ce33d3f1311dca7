"""Mutations of what stands where: operations and their order."""

from random import Random

from pipeproof.campaign._draft import TORCH, Draft, Line, Operation, Spot

__all__ = ["MOVED", "choose", "move", "take_out"]

COMPUTE = ("F", "B", "I", "W", "R", "L")
MOVED = (*COMPUTE, *TORCH, "SEND", "RECV")


def choose(rng: Random, found: list[Spot]) -> Spot | None:
    """Return one of some places; None where there is none."""
    return rng.choice(found) if found else None


def move(program: list[Line], source: int, target: int) -> None:
    """Move an instruction so that it stands before the one that is at `target` now."""
    line = program.pop(source)
    program.insert(target - (target > source), line)


def take_out(draft: Draft, spot: Spot) -> Operation:
    """Take an operation out; an instruction that has nothing left goes with it."""
    line = draft.at(spot)
    gone = line.operations.pop(spot.member)
    if not line.operations:
        del draft.programs[spot.rank][spot.position]
    elif line.form == "overlap" and len(line.operations) == 1:
        line.form = "one"
        line.first.attributes.update(line.attributes)
        line.attributes = {}
    return gone


def _instructions(draft: Draft, least: int = 1) -> list[Spot]:
    """Return the instructions of the programs that have at least so many."""
    return [
        Spot(rank, position, 0)
        for rank, program in enumerate(draft.programs)
        if len(program) >= least
        for position in range(len(program))
    ]


def swap(rng: Random, draft: Draft) -> bool:
    """Two neighbouring instructions of a rank change places."""
    found = [spot for spot in _instructions(draft, 2) if spot.position]
    spot = choose(rng, found)
    if spot is None:
        return False
    move(draft.programs[spot.rank], spot.position, spot.position - 1)
    return True


def shift(rng: Random, draft: Draft) -> bool:
    """An instruction moves anywhere within its rank's program."""
    spot = choose(rng, _instructions(draft, 2))
    if spot is None:
        return False
    program = draft.programs[spot.rank]
    targets = [n for n in range(len(program) + 1) if n not in (spot.position, spot.position + 1)]
    move(program, spot.position, rng.choice(targets))
    return True


def drop(rng: Random, draft: Draft) -> bool:
    """An instruction is left out."""
    spot = choose(rng, _instructions(draft))
    if spot is None:
        return False
    del draft.programs[spot.rank][spot.position]
    return True


def drop_operation(rng: Random, draft: Draft) -> bool:
    """A computation is left out."""
    spot = choose(rng, [spot for spot, _ in draft.every(*COMPUTE)])
    if spot is None:
        return False
    take_out(draft, spot)
    return True


def duplicate(rng: Random, draft: Draft) -> bool:
    """An instruction stands twice: behind itself, or anywhere later."""
    spot = choose(rng, _instructions(draft))
    if spot is None:
        return False
    program = draft.programs[spot.rank]
    copy = program[spot.position].copy()
    program.insert(rng.randint(spot.position + 1, len(program)), copy)
    return True


def relabel(rng: Random, draft: Draft) -> bool:
    """A computation or a message is said to be of another microbatch."""
    ids = draft.microbatches * draft.segments * (draft.steps or 1)
    found = [spot for spot, each in draft.every(*COMPUTE, *TORCH) if each.microbatch >= 0]
    spot = choose(rng, found)
    if spot is None:
        return False
    each = draft.at(spot).operations[spot.member]
    others = [n for n in range(ids + 1) if n != each.microbatch]  # the last is no microbatch
    word = each.words[0]
    each.words[0] = word[: len(word) - len(str(each.microbatch))] + str(rng.choice(others))
    return True


def relabel_stage(rng: Random, draft: Draft) -> bool:
    """A computation is said to be of another stage."""
    spot = choose(rng, [spot for spot, _ in draft.every(*COMPUTE)])
    others = list(range(draft.stages))
    if spot is None or len(others) == 1:
        return False
    each = draft.at(spot).operations[spot.member]
    others.remove(each.stage) if each.stage in others else None
    each.words[0] = f"{rng.choice(others)}{each.words[0].lstrip('0123456789')}"
    return True


def misplace(rng: Random, draft: Draft) -> bool:
    """A computation stands in the program of another rank."""
    spot = choose(rng, [spot for spot, _ in draft.every(*COMPUTE)])
    others = [rank for rank in range(len(draft.programs)) if spot and rank != spot.rank]
    if spot is None or not others or not draft.placement:
        return False
    gone = take_out(draft, spot)
    gone.attributes.pop("if", None)
    program = draft.programs[rng.choice(others)]
    program.insert(rng.randint(0, len(program)), Line([gone]))
    return True


def backward_first(rng: Random, draft: Draft) -> bool:
    """A backward stands before the forward of its microbatch."""
    return _before(rng, draft, "F", "B", "I")


def _before(rng: Random, draft: Draft, first: str, *kinds: str) -> bool:
    """Move one of `kinds` in front of the `first` of its stage and microbatch on its rank."""
    found = []
    for spot, each in draft.every(*kinds):
        wanted = first, each.stage, each.microbatch
        for n, line in enumerate(draft.programs[spot.rank][: spot.position]):
            if any((o.kind, o.stage, o.microbatch) == wanted for o in line.operations):
                found.append((spot, n))
    if not found:
        return False
    spot, target = rng.choice(found)
    move(draft.programs[spot.rank], spot.position, target)
    return True


def weight_gradient_first(rng: Random, draft: Draft) -> bool:
    """A weight gradient stands before the input gradient of its microbatch."""
    return _before(rng, draft, "I", "W")


def reshard_early(rng: Random, draft: Draft) -> bool:
    """A stage's weights are sharded again before their last use, or never gathered."""
    found = []
    for spot, each in draft.every("RESHARD"):
        program = draft.programs[spot.rank]
        uses = [
            n
            for n, line in enumerate(program[: spot.position])
            if any(one.stage == each.stage and one.kind in COMPUTE for one in line.operations)
        ]
        found += [(spot, n) for n in uses[-2:]]
    unshards = [spot for spot, _ in draft.every("UNSHARD")]
    if found and (rng.random() < 0.7 or not unshards):  # noqa: PLR2004  mostly the first way
        spot, target = rng.choice(found)
        move(draft.programs[spot.rank], spot.position, target)
        return True
    if not unshards:
        return False
    take_out(draft, rng.choice(unshards))
    return True


def skip_step(rng: Random, draft: Draft) -> bool:
    """One stage leaves an update out that others make, or makes one that others leave out."""
    found = [each for _, each in draft.every("STEP", "SKIP")]
    if not found:
        return False
    each = rng.choice(found)
    each.words[0] = f"{each.stage}{'SKIP' if each.kind == 'STEP' else 'STEP'}"
    return True
