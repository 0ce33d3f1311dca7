"""Edits that know nothing of rules: lines moved, left out, repeated, attributes changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter import gradient_origins, origins, weight_origins
from tests.interpreter.drafts import Draft, Line

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ORIGINS: tuple[Callable[[Random], Draft], ...] = (
    origins.named,
    origins.handled,
    origins.pooled,
    origins.live,
    origins.memory,
    origins.recomputing,
    origins.saved,
    gradient_origins.gradients,
    weight_origins.flush,
    weight_origins.stash,
    weight_origins.recomputed,
    weight_origins.vertical,
    weight_origins.double_buffered,
    weight_origins.latest,
    weight_origins.speculative,
    weight_origins.gathered,
    weight_origins.cached,
)
_NUMBERS = ("w", "wv")
_REPEATED = ("ZERO", "SCALE", "STALE", "FREE", "STEP", "GATHER", "NORM", "REDUCE", "B", "W", "F")
_KEPT = ("to", "from", "h", "ranks")


def edited(rng: Random, draft: Draft) -> Draft:
    """Another draft, one to three edits away."""
    other = draft.copy()
    for _ in range(rng.choice([1, 1, 2, 3])):
        rng.choice([_moved, _moved, _moved, _left_out, _repeated, _changed, _changed])(rng, other)
    return other


def _moved(rng: Random, draft: Draft) -> None:
    """Moves a line by a few places."""
    program = rng.choice(draft.programs)
    source = rng.randrange(len(program))
    line = program.pop(source)
    target = source + rng.choice([-3, -2, -1, -1, 1, 1, 2, 3])
    program.insert(min(max(target, 0), len(program)), line)


def _left_out(rng: Random, draft: Draft) -> None:
    """Leaves out a line that no other rank waits for."""
    spots = [
        (program, n)
        for program, n in draft.every()
        if program[n].kind not in ("SEND", "RECV", "TIE") and len(program) > 1
    ]
    if spots:
        program, position = rng.choice(spots)
        handle = program[position].attributes.get("h")
        del program[position]
        if handle:
            program[:] = [line for line in program if line.head != f"WAIT {handle}"]


def _repeated(rng: Random, draft: Draft) -> None:
    """Writes a line a second time, somewhere behind."""
    spots = [(p, n) for p, n in draft.spots(*_REPEATED) if "h" not in p[n].attributes]
    if spots:
        program, position = rng.choice(spots)
        line = program[position]
        target = rng.randint(position + 1, len(program))
        program.insert(target, Line(line.head, dict(line.attributes)))


def _changed(rng: Random, draft: Draft) -> None:
    """Drops an attribute, or gives it the value that it has elsewhere."""
    found = [
        (program[n], key)
        for program, n in draft.every()
        for key in program[n].attributes
        if key not in _KEPT
    ]
    if not found:
        return
    line, key = rng.choice(found)
    values = {other.attributes[k] for other, k in found if k == key}
    if key in _NUMBERS:
        values |= {"0", "1", "2"}
    if key not in ("by", "at", "have", "want") and rng.random() < 0.4:
        del line.attributes[key]
    else:
        line.attributes[key] = rng.choice(sorted(values))
    _tidy(line)


def _tidy(line: Line) -> None:
    """Drops what says nothing: a stash of a forward, a claim about no stash."""
    if line.kind == "F" and line.attributes.get("w") == "stash":
        del line.attributes["w"]
    if line.attributes.get("w") != "stash":
        line.attributes.pop("wv", "")
