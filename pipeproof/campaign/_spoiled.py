"""Ways to spoil the programs of a legal schedule so that no reading of them is legal."""

import re
from collections.abc import Callable
from random import Random

__all__ = ["SPOILS"]

Programs = list[list[str]]
Spoil = Callable[[Random, Programs], bool]
"""Changes programs in place; says whether there was something to change."""

_COMPUTED = re.compile(r"\d+[FBIW]\d+")
_END = re.compile(r"(\d+)?(SEND|RECV)\b.*|\d+(SEND|RECV)_[FB]\d+.*")
_HANDLE = re.compile(r" h=(\w+)")


def _places(programs: Programs, wanted: re.Pattern[str]) -> list[tuple[int, int]]:
    return [
        (rank, position)
        for rank, program in enumerate(programs)
        for position, word in enumerate(program)
        if wanted.fullmatch(word)
    ]


def _one(draw: Random, programs: Programs, wanted: str | re.Pattern[str]) -> tuple[int, int] | None:
    found = _places(programs, re.compile(wanted))
    return draw.choice(found) if found else None


def _left_out(draw: Random, programs: Programs) -> bool:
    """Leave a computation out; not the only one that goes backwards, forwards alone is legal."""
    at = _one(draw, programs, _COMPUTED)
    backwards = _places(programs, re.compile(r"\d+[BIW]\d+"))
    if at is None or backwards == [at]:
        return False
    del programs[at[0]][at[1]]
    return True


def _without_weights(draw: Random, programs: Programs) -> bool:
    """Leave out the half of a backward that computes the gradient of weights."""
    at = _one(draw, programs, r"\d+W\d+")
    if at is not None:
        del programs[at[0]][at[1]]
    return at is not None


def _twice(draw: Random, programs: Programs) -> bool:
    """Compute something once more."""
    at = _one(draw, programs, _COMPUTED)
    if at is not None:
        programs[at[0]].insert(at[1], programs[at[0]][at[1]])
    return at is not None


def _instead(draw: Random, programs: Programs) -> bool:
    """Compute one microbatch again in place of another: as many of each kind, not each of them."""
    at = _one(draw, programs, _COMPUTED)
    if at is None:
        return False
    word = programs[at[0]][at[1]]
    alike = re.compile(re.sub(r"\d+$", r"\\d+", word))
    others = [
        programs[rank][position]
        for rank, position in _places(programs, alike)
        if programs[rank][position] != word
    ]
    if others:
        programs[at[0]][at[1]] = draw.choice(others)
    return bool(others)


def _before(draw: Random, programs: Programs) -> bool:
    """Go backwards through a stage before going forwards."""
    at = _one(draw, programs, r"\d+[BI]\d+")
    if at is None:
        return False
    program = programs[at[0]]
    word = program.pop(at[1])
    program.insert(program.index(re.sub(r"[BI]", "F", word)), word)
    return True


def _unmatched(draw: Random, programs: Programs) -> bool:
    """Leave one end of a message out."""
    at = _one(draw, programs, _END)
    if at is None:
        return False
    program = programs[at[0]]
    handle = _HANDLE.search(program.pop(at[1]))
    if handle is not None:
        program.remove(f"WAIT {handle[1]}")
    return True


def _freed(draw: Random, programs: Programs) -> bool:
    """Free storage before it is used."""
    at = _one(draw, programs, r"USE .*")
    if at is None:
        return False
    program = programs[at[0]]
    slot = program[at[1]].split()[1]
    later = next(i for i, word in enumerate(program) if i > at[1] and word == f"FREE {slot}")
    program.insert(at[1], program.pop(later))
    return True


def _unsignalled(draw: Random, programs: Programs) -> bool:
    """Wait for a signal that nobody gives."""
    at = _one(draw, programs, r"SIGNAL .*")
    if at is not None:
        del programs[at[0]][at[1]]
    return at is not None


def _absent(draw: Random, programs: Programs) -> bool:
    """Keep one rank out of a collective."""
    at = _one(draw, programs, r"COLL .*")
    if at is None or len(programs) == 1:
        return False
    del programs[at[0]][at[1]]
    return True


def _early(draw: Random, programs: Programs) -> bool:
    """Update weights before anything is computed."""
    at = _one(draw, programs, r"\d+STEP")
    if at is None:
        return False
    programs[at[0]].insert(0, programs[at[0]].pop(at[1]))
    return True


SPOILS: tuple[tuple[Spoil, str], ...] = (
    (_left_out, "PP101"),
    (_without_weights, "PP101"),
    (_twice, "PP102"),
    (_instead, "PP102"),
    (_before, "PP402"),
    (_unmatched, "PP201"),
    (_freed, "PP504"),
    (_unsignalled, "PP201"),
    (_absent, "PP205"),
    (_early, "PP706"),
)
"""Each with the rule that is broken then, beside others that may be."""
