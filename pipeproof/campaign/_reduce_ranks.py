"""The same schedule on fewer ranks, or with fewer stages."""

from collections.abc import Callable, Iterator
from functools import partial

from pipeproof.campaign._draft import TORCH, Draft, Line, Operation, Spot, Tree
from pipeproof.campaign._mutate_messages import spelled
from pipeproof.campaign._reduce import remove, renumber

__all__ = ["fewer_ranks", "fewer_stages"]

_PEERS = ("to", "from")
_STORAGE = ("buf", "in", "out", "aux", "keep", "gin", "gout", "label")


def fewer_ranks(draft: Draft) -> Iterator[Draft]:
    """Yield the schedule without each rank, the last first, and with two ranks as one.

    What a rank hands on is handed on without it, or left out with it.
    """
    ranks = len(draft.programs)
    if ranks == 1:
        return
    for rank in reversed(range(ranks)):
        for joined in (True, False):
            yield _without_rank(draft, rank, joined=joined)
    for one in range(ranks):
        for other in range(one + 1, ranks):
            for way in ("after", "before", "between"):
                yield _as_one(draft, one, other, way)


def fewer_stages(draft: Draft) -> Iterator[Draft]:
    """Yield the schedule without each stage, the last first."""
    if draft.stages == 1:
        return
    for stage in reversed(range(draft.stages)):
        for joined in (True, False):
            other = draft.copy()
            _take_stage(other, stage, joined=joined)
            yield other


def _without_rank(draft: Draft, rank: int, *, joined: bool) -> Draft:
    other = draft.copy()
    for stage in reversed(range(draft.stages)):
        if other.rank_of(stage) == rank and other.stages > 1:
            _take_stage(other, stage, joined=joined)
    _forget_rank(other, rank)
    return other


def _forget_rank(draft: Draft, rank: int) -> None:
    """Take the program of a rank out, and what others do with it; those behind it close up."""
    gone: list[Spot] = []
    for spot, each in draft.every():
        if spot.rank != rank and _concerns(draft, spot, each, rank):
            gone.append(spot)
    remove(draft, gone)
    del draft.programs[rank]
    for _, each in draft.every():
        for side in _PEERS:
            if each.attributes.get(side, "any").isdigit():
                each.attributes[side] = str(_closed(int(each.attributes[side]), rank))
        if "ranks" in each.attributes:
            left = [int(one) for one in each.attributes["ranks"].split(",") if int(one) != rank]
            each.attributes["ranks"] = ",".join(str(_closed(one, rank)) for one in left)
    draft.placement = [_closed(one, rank) for one in draft.placement]
    _close_keys(draft, rank)


def _concerns(draft: Draft, spot: Spot, each: Operation, rank: int) -> bool:
    """Whether an operation of another rank makes no sense without this one."""
    if each.kind in TORCH:
        return rank in draft.message(spot, each)[1:3]
    if any(each.attributes.get(side) == str(rank) for side in _PEERS):
        return True
    ranks = each.attributes.get("ranks", "").split(",")
    return str(rank) in ranks and len(ranks) == 2 and each.kind == "COLL"  # noqa: PLR2004  a pair


def _closed(rank: int, gone: int) -> int:
    return rank - (rank > gone)


def _close_keys(draft: Draft, rank: int) -> None:
    ready = draft.described.pop("ready", {})
    if isinstance(ready, dict):
        left = {str(_closed(int(k), rank)): each for k, each in ready.items() if int(k) != rank}
        draft.described |= {"ready": left} if left else {}
    _close_faults(draft.described, rank)


def _close_faults(described: dict[str, Tree], rank: int) -> None:
    faults = described.get("faults")
    among = faults.get("among") if isinstance(faults, dict) else None
    if not isinstance(faults, dict) or not isinstance(among, list):
        return
    left: list[Tree] = []
    for each in among:
        if isinstance(each, dict) and str(each.get("rank", "")).isdigit():
            if each["rank"] == str(rank):
                continue
            each["rank"] = str(_closed(int(str(each["rank"])), rank))
        left.append(each)
    faults["among"] = left


def _take_stage(draft: Draft, stage: int, *, joined: bool) -> None:
    """Take a stage out; those behind it close up.

    Where it is `joined`, the stage before it sends to the one behind it, and the other way round.
    """
    before, after = _beside(draft, stage)
    apart = min(before, after) >= 0 and draft.rank_of(before) != draft.rank_of(after)
    gone = []
    for spot, each in draft.every():
        if each.stage == stage or _touches(draft, spot, each, stage):
            end = _end(draft, spot, each, stage)
            if joined and apart and end is not None:
                _redirect(draft, spot, end)
            else:
                gone.append(spot)
    remove(draft, gone)
    renumber(
        draft,
        stage=lambda number: number - (number > stage),
        of_value=lambda kind, number: max(number - (number >= stage + (kind == "B")), 0),
    )
    if stage < len(draft.placement):
        del draft.placement[stage]
    draft.pipelines = [
        [each - (each > stage) for each in line if each != stage] for line in draft.pipelines
    ]
    _close_stages(draft, stage)
    draft.stages -= 1


def _beside(draft: Draft, stage: int) -> tuple[int, int]:
    """Return the stages before and behind a stage; -1 where there is none."""
    for line in draft.pipelines or [list(range(draft.stages))]:
        if stage in line:
            at = line.index(stage)
            return (line[at - 1] if at else -1, line[at + 1] if at + 1 < len(line) else -1)
    return -1, -1


def _touches(draft: Draft, spot: Spot, each: Operation, stage: int) -> bool:
    """Whether a message brings something to a stage or takes something from it."""
    if not each.is_send and not each.is_receive:
        return False
    before, after = _beside(draft, stage)
    value = draft.message(spot, each)[0].partition(".")[0]
    own = {f"F{stage}", f"B{stage}"}
    return value in own | {f"F{before}"} | ({f"B{after}"} if after >= 0 else set())


def _end(draft: Draft, spot: Spot, each: Operation, stage: int) -> tuple[str, int] | None:
    """Return value and peer of the end of a message beside a stage, as if it were not there."""
    if each.stage == stage or not (each.is_send or each.is_receive):
        return None
    before, after = _beside(draft, stage)
    value = draft.message(spot, each)[0]
    word, _, microbatch = value.partition(".")
    front, back = draft.rank_of(before), draft.rank_of(after)
    ends = {
        (f"F{before}", True): (f"F{before}", back, front),
        (f"F{stage}", False): (f"F{before}", front, back),
        (f"B{after}", True): (f"B{after}", front, back),
        (f"B{stage}", False): (f"B{after}", back, front),
    }
    found = ends.get((word, each.is_send))
    if found is None or found[2] != spot.rank:
        return None
    return f"{found[0]}.{microbatch}", found[1]


def _redirect(draft: Draft, spot: Spot, end: tuple[str, int]) -> None:
    each = draft.at(spot).operations[spot.member]
    if each.kind in TORCH:
        return  # it names its own stage, and the one beside it becomes another
    written = spelled(draft, spot)
    written.words[1] = end[0]
    written.attributes["to" if written.is_send else "from"] = str(end[1])


def _close_stages(draft: Draft, stage: int) -> None:
    """Take a stage out of the lists that hold something for each of them."""
    for key in ("sizes", "costs"):
        held = draft.described.get(key)
        for each in held.values() if isinstance(held, dict) else ():
            if isinstance(each, list) and len(each) == draft.stages:
                del each[stage]
    tied = draft.gradients.pop("tied", None)
    if isinstance(tied, list):
        lines = [[str(n) for n in _stages_left(line, stage)] for line in tied]
        left: list[Tree] = [list(line) for line in lines if len(line) > 1]
        draft.gradients |= {"tied": left} if left else {}


def _stages_left(line: Tree, stage: int) -> list[int]:
    numbers = [int(each) for each in line if isinstance(each, str)]
    return [number - (number > stage) for number in numbers if number != stage]


def _as_one(draft: Draft, one: int, other: int, way: str) -> Draft:
    """Return the schedule with what one rank does done by another: behind, before, in turns."""
    joined = draft.copy()
    inner = [
        spot
        for spot, each in joined.every()
        if spot.rank in (one, other) and _is_between(joined, spot, each, one, other)
    ]
    remove(joined, inner)
    _set_apart(joined.programs[other], joined.programs[one])
    first, second = joined.programs[one], joined.programs[other]
    joined.programs[one] = _interleaved(first, second, way)
    joined.programs[other] = []
    joined.placement = [one if rank == other else rank for rank in joined.placement]
    for _, each in joined.every():
        for side in _PEERS:
            if each.attributes.get(side) == str(other):
                each.attributes[side] = str(one)
        if "ranks" in each.attributes:
            ranks = [
                one if int(r) == other else int(r) for r in each.attributes["ranks"].split(",")
            ]
            each.attributes["ranks"] = ",".join(str(rank) for rank in dict.fromkeys(ranks))
    _forget_rank(joined, other)
    return joined


def _interleaved(first: list[Line], second: list[Line], way: str) -> list[Line]:
    if way == "after":
        return [*first, *second]
    if way == "before":
        return [*second, *first]
    length = max(len(first), len(second))
    turns = [(program, n) for n in range(length) for program in (first, second)]
    return [program[n] for program, n in turns if n < len(program)]


def _is_between(draft: Draft, spot: Spot, each: Operation, one: int, other: int) -> bool:
    """Whether an operation is of two ranks that become one, and has no sense there."""
    pair = {one, other}
    if each.is_send or each.is_receive:
        return set(draft.message(spot, each)[1:3]) == pair
    if each.kind in ("SIGNAL", "AWAIT"):
        return {spot.rank, int(each.attributes.get("to") or each.attributes["from"])} == pair
    ranks = {int(rank) for rank in each.attributes.get("ranks", "").split(",") if rank}
    return each.kind == "COLL" and pair <= ranks and (spot.rank == other or ranks == pair)


def _set_apart(program: list[Line], beside: list[Line]) -> None:
    """Give storage and handles of a program names that the one beside it does not have."""
    taken = {name for line in beside for _, name in _own_names(line)}
    names: dict[str, str] = {}
    for line in program:
        for put, name in _own_names(line):
            if name not in names:
                names[name] = _free(name, taken)
                taken.add(names[name])
            put(names[name])


def _free(name: str, taken: set[str]) -> str:
    number = 2
    other = name
    while other in taken:
        other, number = f"{name}_{number}", number + 1
    return other


def _own_names(line: Line) -> Iterator[tuple[Callable[[str], None], str]]:
    """Yield the names of storage and handles of an instruction, and what changes each."""
    for each in line.operations:
        for key in _STORAGE:
            if key in each.attributes:
                yield partial(each.attributes.__setitem__, key), each.attributes[key]
        if each.kind in ("FREE", "WRITE", "USE", "WAIT"):
            yield partial(each.words.__setitem__, 1), each.words[1]
    if "h" in line.own:
        yield partial(line.own.__setitem__, "h"), line.own["h"]
