"""Storage of a draft: names that are taken again as soon as they may, or pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.interpreter.accesses import RankStorage
from tests.interpreter.drafts import Draft, Line
from tests.interpreter.observation import observe
from tests.interpreter.spec import read_spec

if TYPE_CHECKING:
    from random import Random

_PUTS = {"F": "out", "K": "keep", "L": "out", "B": "gout"}
_READS = {"F": "in", "X": "in", "Y": "label", "L": "gin", "B": "gin"}


@dataclass(slots=True)
class Life:
    """A value on a rank: where it is put, and where it is read for the last time."""

    value: str
    start: int
    end: int
    readers: list[int]
    name: str = ""


def lives(draft: Draft, rank: int) -> dict[str, Life]:
    """The values that are put on a rank, in program order."""
    spec, program = read_spec(draft.text), draft.programs[rank]
    found: dict[str, Life] = {}
    for position, touches in enumerate(RankStorage(spec, rank).touches):
        for touch in touches:
            for value, _ in touch.reads:
                if value in found:
                    found[value].end = max(found[value].end, _read_until(draft, program, position))
                    found[value].readers.append(position)
            made = [v for values in touch.writes.values() for v in sorted(values)]
            for value in [*made, *(tag for _, tag in touch.tags)]:
                found.setdefault(value, Life(value, position, position, []))
    return found


def _read_until(draft: Draft, program: list[Line], position: int) -> int:
    """Where a read is over: for a send, where it is waited for."""
    line = program[position]
    if line.kind != "SEND":
        return position
    if handle := line.attributes.get("h"):
        ends = [n for n, other in enumerate(program) if other.head == f"WAIT {handle}"]
        return ends[0] if ends else len(program)
    if "at-use" in draft.keys["transport"]:
        rest = range(position, len(program))
        return next((n for n in rest if program[n].kind in ("STEP", "SKIP")), len(program))
    return position


def name_storage(rng: Random, draft: Draft, *, free: float = 0.3) -> Draft:
    """Gives most values storage by name, and gives some of it back."""
    for rank, program in enumerate(draft.programs):
        known = lives(draft, rank)
        for value, life in list(known.items()):
            if value[0] == "K":
                _alias(rng, program, known, life)
        owners: dict[str, Life] = {}
        for life in known.values():
            if life.name or rng.random() < 0.15 or not _attribute(program, life):
                continue
            life.name = _choose(rng, owners, life, program)
            owners[life.name] = life
        for life in known.values():
            _write_down(rng, program, life)
        _give_back(rng, program, known, free)
    return draft


def _alias(rng: Random, program: list[Line], known: dict[str, Life], kept: Life) -> None:
    """Lets a forward keep its input where it is, sometimes."""
    line = program[kept.start]
    source = f"F{line.stage - 1}.{line.microbatch}" if line.stage else f"X.{line.microbatch}"
    if source in known and rng.random() < 0.4:
        known[source].end = max(known[source].end, kept.end)
        known[source].readers += kept.readers
        kept.name = f"={source}"


def _attribute(program: list[Line], life: Life) -> str:
    """The attribute that names the storage in which a value is put."""
    kind = program[life.start].kind
    if kind in ("RECV", "LOAD"):
        return "buf"
    if life.value[0] == "L" and kind != "L":
        return ""
    return _PUTS.get(life.value[0], "")


def _choose(rng: Random, owners: dict[str, Life], life: Life, program: list[Line]) -> str:
    """A name that is free, perhaps one that only the writer still reads."""
    compute = program[life.start].kind in ("B", "I")
    free = [
        name
        for name, owner in owners.items()
        if owner.end < life.start
        or (compute and owner.end == life.start and life.start in owner.readers)
    ]
    if free and rng.random() < 0.8:
        return rng.choice(free)
    return f"b{len(owners)}"


def _write_down(rng: Random, program: list[Line], life: Life) -> None:
    if life.name.startswith("="):
        forward = program[life.start]
        forward.attributes["keep"] = forward.attributes.get("in", "")
        if not forward.attributes["keep"]:
            del forward.attributes["keep"]
        return
    if not life.name:
        return
    program[life.start].attributes[_attribute(program, life)] = life.name
    for position in life.readers:
        reads = reading_attribute(program[position], life.value)
        needed = reads == "in" and rng.random() < 0.9
        if reads and (needed or rng.random() < 0.7):
            program[position].attributes[reads] = life.name


def reading_attribute(line: Line, value: str) -> str:
    """The attribute that names the storage from which a line reads a value."""
    if line.kind == "SEND":
        return "buf"
    if line.kind == "L":
        return "label" if value[0] == "Y" else "in"
    reads = _READS.get(value[0], "")
    return reads if reads == ("in" if line.kind == "F" else "gin") else ""


def _give_back(rng: Random, program: list[Line], known: dict[str, Life], free: float) -> None:
    last: dict[str, int] = {}
    for life in known.values():
        if life.name and not life.name.startswith("="):
            last[life.name] = max(life.end, last.get(life.name, -1))
    for name, end in sorted(last.items(), key=lambda pair: -pair[1]):
        if end < len(program) and rng.random() < free:
            program.insert(end + 1, Line(f"FREE {name}"))


def pool_storage(rng: Random, draft: Draft) -> Draft:
    """Gives values slots of pools, as few as are legal."""
    pools = rng.sample(["receive", "send", "stash"], rng.randint(1, 3))
    slot = {pool: rng.choice(["microbatch mod slots", "use mod slots"]) for pool in pools}
    rank = {pool: ", per: rank" if rng.random() < 0.25 else "" for pool in pools}
    slots = dict.fromkeys(pools, 6)
    registers = _registers(rng, draft)

    def written() -> str:
        parts = [f"{p}: {{slots: {slots[p]}, slot: {slot[p]}{rank[p]}}}" for p in pools]
        return "{" + ", ".join([*parts, *registers]) + "}"

    for pool in pools:
        for number in [*range(1, 7), *range(1, 7)]:
            slots[pool] = number
            draft.keys["storage"] = written()
            if observe(draft.text).legal:
                break
            if number == 6 and rank[pool]:
                rank[pool], slots[pool] = "", 6
    return draft


def _registers(rng: Random, draft: Draft) -> list[str]:
    """Registers, where they do no harm."""
    for listed in rng.sample(["[loss, grad]", "[loss]", "[grad]"], 3):
        draft.keys["storage"] = f"{{registers: {listed}}}"
        if rng.random() < 0.5 and observe(draft.text).legal:
            return [f"registers: {listed}"]
    return []
