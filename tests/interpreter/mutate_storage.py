"""Mutations of storage, bounds, recomputation and restart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from tests.interpreter.drafts import Draft, Line
from tests.interpreter.naming import lives, reading_attribute

if TYPE_CHECKING:
    from random import Random

    from tests.interpreter.naming import Life

T = TypeVar("T")

_NAMES = ("buf", "in", "out", "keep", "gin", "gout", "label")


def pick(rng: Random, found: list[T]) -> T | None:
    """One of a list; none of an empty one."""
    return rng.choice(found) if found else None


def move(program: list[Line], source: int, target: int) -> None:
    """Moves a line so that it stands before the one that is at `target` now."""
    line = program.pop(source)
    program.insert(target - (target > source), line)


def lower(draft: Draft, key: str, pattern: str) -> bool:
    """Lowers by one the number that a pattern finds in a key; false where it is 0 or absent."""
    found = re.search(pattern, draft.keys.get(key, ""))
    if not found or int(found[1]) == 0:
        return False
    text = draft.keys[key]
    draft.keys[key] = text[: found.start(1)] + str(int(found[1]) - 1) + text[found.end(1) :]
    return True


def _waits(draft: Draft, kind: str) -> list[tuple[list[Line], int, int]]:
    """The messages of a kind with a handle: program, their position, that of their WAIT."""
    found = []
    for program, position in draft.spots(kind):
        handle = program[position].attributes.get("h")
        ends = [n for n, line in enumerate(program) if handle and line.head == f"WAIT {handle}"]
        found += [(program, position, end) for end in ends]
    return found


def _named_at(line: Line) -> set[str]:
    return {line.attributes[key] for key in _NAMES if key in line.attributes}


def wait_after_reader(rng: Random, draft: Draft) -> Draft | None:
    """The WAIT of a receive stands after what reads it."""
    found = []
    for program, position, end in _waits(draft, "RECV"):
        value = program[position].read.value
        known = lives(draft, draft.programs.index(program))
        later = [n for n in known[value].readers if n > end]
        if later and "buf" in program[position].attributes:
            found.append((program, end, later[0]))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, end, reader = chosen
    move(program, end, reader + 1)
    return draft


def wait_left_out(rng: Random, draft: Draft) -> Draft | None:
    """A receive that is read is never waited for."""
    found = []
    for program, position, end in _waits(draft, "RECV"):
        if "buf" in program[position].attributes:
            found.append((program, end))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    del chosen[0][chosen[1]]
    return draft


def write_before_wait(rng: Random, draft: Draft) -> Draft | None:
    """The WAIT of a send stands after the next writer of its storage."""
    found = []
    for program, position, end in _waits(draft, "SEND"):
        value = program[position].read.value
        known = lives(draft, draft.programs.index(program))
        name = _storage_of(program, known, value)
        writers = [
            life.start
            for life in known.values()
            if life.start > end and name and name == _storage_of(program, known, life.value)
        ]
        if writers:
            found.append((program, end, min(writers)))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, end, writer = chosen
    if rng.random() < 0.3:
        del program[end]
    else:
        move(program, end, writer + 1)
    return draft


def _storage_of(program: list[Line], known: dict[str, Life], value: str) -> str:
    """The name of the storage in which a value is put."""
    life = known.get(value)
    if life is None:
        return ""
    line = program[life.start]
    keys = {"F": "out", "B": "gout", "I": "gout", "RECV": "buf", "LOAD": "buf", "L": "out"}
    key = "keep" if value[0] == "K" else keys.get(line.kind, "")
    return line.attributes.get(key, "")


def one_storage_for_two(rng: Random, draft: Draft) -> Draft | None:
    """A value is put where another one stands that is still read."""
    found = []
    for rank, program in enumerate(draft.programs):
        known = lives(draft, rank)
        named = [life for life in known.values() if _storage_of(program, known, life.value)]
        found += [
            (program, known, first.value, other)
            for first in named
            for other in named
            if first.start < other.start < first.end and other.readers
        ]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, known, kept, other = chosen
    old, new = (_storage_of(program, known, value) for value in (kept, other.value))
    for position in [other.start, *other.readers]:
        line = program[position]
        if position == other.start:
            keys = [key for key, name in line.attributes.items() if key in _NAMES and name == new]
            keys = [key for key in keys if key in ("out", "keep", "gout", "buf")]
        else:
            keys = [reading_attribute(line, other.value)]
        for key in keys:
            if line.attributes.get(key) == new:
                line.attributes[key] = old
    return draft


def fewer_slots(rng: Random, draft: Draft) -> Draft | None:
    """A pool has one slot less than it needs."""
    pools = [p for p in ("receive", "send", "stash") if p in draft.keys.get("storage", "")]
    rng.shuffle(pools)
    for pool in pools:
        found = re.search(rf"{pool}: {{slots: (\d+)", draft.keys["storage"])
        if found and int(found[1]) > 1 and lower(draft, "storage", rf"{pool}: {{slots: (\d+)"):
            return draft
    return None


def freed_early(rng: Random, draft: Draft) -> Draft | None:
    """Storage is given back before its last reader."""
    found = []
    for rank, program in enumerate(draft.programs):
        known = lives(draft, rank)
        for life in known.values():
            name = _storage_of(program, known, life.value)
            last = max(life.readers, default=-1)
            if name and last > life.start:
                found.append((program, name, rng.randint(life.start + 1, last)))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, name, position = chosen
    program.insert(position, Line(f"FREE {name}"))
    return draft


def freed_in_flight(rng: Random, draft: Draft) -> Draft | None:
    """Storage is given back between the post of a send and its WAIT."""
    found = []
    for program, position, end in _waits(draft, "SEND"):
        known = lives(draft, draft.programs.index(program))
        name = _storage_of(program, known, program[position].read.value)
        if name:
            found.append((program, name, rng.randint(position + 1, end)))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, name, position = chosen
    program.insert(position, Line(f"FREE {name}"))
    return draft


def other_storage_read(rng: Random, draft: Draft) -> Draft | None:
    """A reader names another storage than the one that holds what it needs."""
    found = []
    for program, position in draft.spots("SEND", "F", "B", "I", "L"):
        line = program[position]
        reads = ["buf"] if line.kind == "SEND" else ["in", "gin", "label"]
        found += [(program, line, key) for key in reads if key in line.attributes]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, line, key = chosen
    names = sorted(
        {name for other in program for name in _named_at(other)} - {line.attributes[key]}
    )
    line.attributes[key] = rng.choice([*names, "nowhere"])
    return draft


def received_elsewhere(rng: Random, draft: Draft) -> Draft | None:
    """A receive puts its value elsewhere than where it is looked for."""
    found = []
    for program, position in draft.spots("RECV", "LOAD"):
        name = program[position].attributes.get("buf")
        value = program[position].read.value
        known = lives(draft, draft.programs.index(program))
        for reader in known[value].readers:
            key = reading_attribute(program[reader], value)
            if name and program[reader].attributes.get(key) == name:
                found.append(program[position])
                break
    chosen = pick(rng, found)
    if chosen is None:
        return None
    chosen.attributes["buf"] = "elsewhere"
    return draft


def live_bound_lower(_rng: Random, draft: Draft) -> Draft | None:
    """One forward fewer may be alive."""
    return draft if lower(draft, "bounds", r"live: (\d+)") else None


def one_more_held(rng: Random, draft: Draft) -> Draft | None:
    """One more buffer is held, and dropped."""
    chosen = pick(rng, draft.spots("HOLD"))
    if chosen is None:
        return None
    for line in chosen[0]:
        if line.kind in ("HOLD", "DROP"):
            line.head = f"{line.kind} {line.read.count + 1}"
    return draft


def forward_earlier(rng: Random, draft: Draft) -> Draft | None:
    """A forward of the first stage stands before the backward before it."""
    found = []
    for program, position in draft.spots("F"):
        if program[position].stage == 0:
            earlier = [n for n in range(position) if program[n].kind in ("B", "W")]
            found += [(program, position, earlier[-1])] if earlier else []
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def memory_bound_lower(_rng: Random, draft: Draft) -> Draft | None:
    """One byte less may be alive."""
    return draft if lower(draft, "bounds", r"memory: (\d+)") else None


def never_dropped(rng: Random, draft: Draft) -> Draft | None:
    """A buffer that is held is not dropped, or fewer of them are."""
    chosen = pick(rng, draft.spots("DROP"))
    if chosen is None:
        return None
    program, position = chosen
    count = program[position].read.count
    if count == 1 or rng.random() < 0.5:
        del program[position]
    else:
        program[position].head = f"DROP {count - 1}"
    return draft


def held_again(rng: Random, draft: Draft) -> Draft | None:
    """More is held than dropped."""
    chosen = pick(rng, draft.spots("HOLD"))
    if chosen is None:
        return None
    line = chosen[0][chosen[1]]
    line.head = f"HOLD {line.read.count + 1}"
    draft.keys.pop("bounds", "")
    return draft
