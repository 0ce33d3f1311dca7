"""Mutations of gradients, their reductions and updates."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tests.interpreter.drafts import Draft, Line
from tests.interpreter.mutate_storage import move, pick

if TYPE_CHECKING:
    from random import Random


def closing(draft: Draft) -> str:
    """The operation that contributes: W where the backward is split."""
    return "W" if draft.spots("W") else "B"


def _contributions(draft: Draft) -> list[tuple[list[Line], int]]:
    return draft.spots(closing(draft))


def _of(program: list[Line], stage: int, *kinds: str) -> list[int]:
    return [n for n, line in enumerate(program) if line.stage == stage and line.kind in kinds]


def _window(draft: Draft, program: list[Line], stage: int, position: int) -> list[int]:
    """The contributions of a stage before a position, since its last STEP."""
    steps = [n for n in _of(program, stage, "STEP") if n < position]
    first = steps[-1] if steps else -1
    return [n for n in _of(program, stage, closing(draft)) if first < n < position]


def contribution_left_out(rng: Random, draft: Draft) -> Draft | None:
    """A weight gradient stands nowhere."""
    found = _contributions(draft)
    if closing(draft) == "B":
        found = [(p, n) for p, n in found if p[n].stage == 0]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    del chosen[0][chosen[1]]
    return draft if draft.spots("B", "I", "W") else None


def assigned(rng: Random, draft: Draft) -> Draft | None:
    """A contribution overwrites what was there."""
    every = _contributions(draft)
    later = [(p, n) for p, n in every if _window(draft, p, p[n].stage, n)]
    chosen = pick(rng, later if rng.random() < 0.9 else every)
    if chosen is None:
        return None
    chosen[0][chosen[1]].attributes["mode"] = "assign"
    return draft


def cleared_between(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is cleared after a contribution."""
    chosen = pick(rng, _contributions(draft))
    if chosen is None:
        return None
    program, position = chosen
    program.insert(position + 1, Line(f"{program[position].stage}ZERO"))
    return draft


def zero_late(rng: Random, draft: Draft) -> Draft | None:
    """The gradient is cleared after its first contribution, not before."""
    found = []
    for program, position in draft.spots("ZERO"):
        stage = program[position].stage
        later = [n for n in _of(program, stage, closing(draft)) if n > position]
        found += [(program, position, later[0] + 1)] if later else []
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def contribution_twice(rng: Random, draft: Draft) -> Draft | None:
    """A contribution stands twice."""
    whole = [(p, n) for p, n in _contributions(draft) if "c" not in p[n].attributes]
    chosen = pick(rng, whole)
    if chosen is None:
        return None
    program, position = chosen
    line = program[position]
    other = Line(line.head, dict(line.attributes))
    later = [n for n in _of(program, line.stage, "STEP", "REDUCE", "TIE") if n > position]
    stop = min(later, default=len(program))
    program.insert(rng.randint(position + 1, stop), other)
    return draft


def parameter_again(rng: Random, draft: Draft) -> Draft | None:
    """A contribution to all parameters stands beside one to a parameter."""
    found = [(p, n) for p, n in _contributions(draft) if "c" not in p[n].attributes]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, position = chosen
    line = program[position]
    attributes = dict(line.attributes)
    if attributes.pop("param", "") == "":
        attributes["param"] = "w"
    program.insert(position + 1, Line(line.head, attributes))
    return draft


def reduced_twice(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is reduced twice."""
    chosen = pick(rng, draft.spots("REDUCE"))
    if chosen is None:
        return None
    program, position = chosen
    program.insert(position, Line(f"{program[position].stage}REDUCE"))
    return draft


def other_coefficient(rng: Random, draft: Draft) -> Draft | None:
    """A contribution enters with another coefficient."""
    chosen = pick(rng, _contributions(draft))
    if chosen is None:
        return None
    attributes = chosen[0][chosen[1]].attributes
    number = Fraction(attributes.get("c", "1"))
    attributes["c"] = str(number * rng.choice([Fraction(1, 2), Fraction(2), Fraction(2, 3)]))
    return draft


def scaled_again(rng: Random, draft: Draft) -> Draft | None:
    """What a gradient holds is scaled once more than asked."""
    chosen = pick(rng, _contributions(draft))
    if chosen is None:
        return None
    program, position = chosen
    stage = program[position].stage
    program.insert(position + 1, Line(f"{stage}SCALE", {"by": rng.choice(["1/2", "2", "1/3"])}))
    return draft


def scale_left_out(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is not scaled."""
    chosen = pick(rng, draft.spots("SCALE"))
    if chosen is None:
        return None
    del chosen[0][chosen[1]]
    return draft


def scaled_too_soon(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is scaled before its last contribution."""
    return _before_last(rng, draft, "SCALE")


def _before_last(rng: Random, draft: Draft, kind: str) -> Draft | None:
    """Moves an instruction before the last contribution of its window, at least."""
    found = []
    for program, position in draft.spots(kind):
        line = program[position]
        earlier = [
            n for n in _window(draft, program, line.stage, position) if _shared(line, program[n])
        ]
        found += [(program, position, n) for n in earlier[-2:]]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def _shared(one: Line, other: Line) -> bool:
    """Whether two instructions are about one parameter."""
    names = {line.attributes.get("param", "") for line in (one, other)}
    return len(names) == 1 or "" in names


def reduced_early(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is reduced before its last contribution."""
    changed = _before_last(rng, draft, "REDUCE")
    if changed is None:
        return None
    for program, position in changed.spots("WAIT"):  # it is over before the contribution
        starts = [
            n for n, line in enumerate(program) if _handle(line) == program[position].read.name
        ]
        if starts and program[starts[0]].kind == "REDUCE" and starts[0] + 1 < position:
            move(program, position, starts[0] + 1)
    return changed


def _handle(line: Line) -> str:
    return line.attributes.get("h", "")


def marked_wrong(rng: Random, draft: Draft) -> Draft | None:
    """The mark of the last contribution is wrong."""
    found = [p[n] for p, n in _contributions(draft) if "last" in p[n].attributes]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    chosen.attributes["last"] = "no" if chosen.attributes["last"] == "yes" else "yes"
    return draft


def reduction_left_out(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is never reduced."""
    chosen = pick(rng, draft.spots("REDUCE"))
    if chosen is None:
        return None
    program, position = chosen
    handle = _handle(program[position])
    stage = program[position].stage
    reductions = sum(program[n].stage == stage for program, n in draft.spots("REDUCE"))
    others = len(draft.spots("REDUCE")) - reductions
    asked = draft.keys.get("gradients", "")
    if "once" in asked or (not others and reductions < 2 and "required" not in asked):
        return None
    del program[position]
    if handle:
        program[:] = [line for line in program if line.head != f"WAIT {handle}"]
    return draft


def stepped_early(rng: Random, draft: Draft) -> Draft | None:
    """A STEP stands before the last contribution."""
    return _before_last(rng, draft, "STEP")


def ties_left_out(rng: Random, draft: Draft) -> Draft | None:
    """Tied copies are never summed."""
    if not draft.spots("TIE"):
        return None
    stages = sorted({p[n].stage for p, n in draft.spots("TIE")})
    gone = stages if rng.random() < 0.7 else [rng.choice(stages)]
    for program in draft.programs:
        program[:] = [s for s in program if s.kind != "TIE" or s.stage not in gone]
    return draft


def tied_early(rng: Random, draft: Draft) -> Draft | None:
    """Tied copies are summed before a copy's last contribution."""
    return _before_last(rng, draft, "TIE")


def tied_while_reduced(rng: Random, draft: Draft) -> Draft | None:
    """One of two tied copies is reduced before they are summed, the other after."""
    found = []
    for program, position in draft.spots("TIE"):
        stage = program[position].stage
        reductions = _of(program, stage, "REDUCE")
        after = [n for n in reductions if n > position][:1]
        before = [n for n in reductions if n < position][-1:]
        found += [(program, n, position) for n in after]
        found += [(program, position, n) for n in before]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, source, target = chosen
    move(program, source, target)
    return draft


def shards_differ(rng: Random, draft: Draft) -> Draft | None:
    """Two tied copies hold different shards when they are summed."""
    found = [
        program[n]
        for program, position in draft.spots("TIE")
        for n in _of(program, program[position].stage, "REDUCE")
        if n < position
        and not set(_of(program, program[position].stage, "STEP")) & set(range(n, position))
    ]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    chosen.attributes["shard"] = str(rng.randint(0, 1))
    return draft


def leftovers(rng: Random, draft: Draft) -> Draft | None:
    """A gradient holds leftovers that nobody clears."""
    chosen = pick(rng, _contributions(draft))
    if chosen is None:
        return None
    program, position = chosen
    stage = program[position].stage
    clears = [n for n in _of(program, stage, "ZERO") if n < position]
    steps = [n for n in _of(program, stage, "STEP") if n < position]
    start = max([*clears, *steps], default=-1) + 1
    program.insert(rng.randint(start, position + 1), Line(f"{stage}STALE"))
    return draft


def never_cleared(rng: Random, draft: Draft) -> Draft | None:
    """The leftovers of a gradient are not cleared."""
    chosen = pick(rng, [(p, n) for p, n in draft.spots("ZERO") if _stale_before(p, n)])
    if chosen is None:
        return None
    del chosen[0][chosen[1]]
    return draft


def _stale_before(program: list[Line], position: int) -> bool:
    stage = program[position].stage
    return position > 0 and program[position - 1].head == f"{stage}STALE"


def fewer_in_norm(rng: Random, draft: Draft) -> Draft | None:
    """A norm is taken over fewer ranks."""
    found = [p[n] for p, n in draft.spots("NORM") if "," in p[n].attributes["ranks"]]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    ranks = chosen.attributes["ranks"].split(",")
    chosen.attributes["ranks"] = ",".join(ranks[1:] if rng.random() < 0.5 else ranks[:-1])
    return draft


def norm_left_out(rng: Random, draft: Draft) -> Draft | None:
    """The norm is not taken."""
    chosen = pick(rng, draft.spots("NORM"))
    if chosen is None:
        return None
    del chosen[0][chosen[1]]
    return draft


def norm_early(rng: Random, draft: Draft) -> Draft | None:
    """The norm is taken before the last contribution."""
    return _before_last(rng, draft, "NORM")


def used_while_reduced(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is used while its reduction runs."""
    found = []
    for program, position in draft.spots("REDUCE"):
        handle = _handle(program[position])
        ends = [n for n, line in enumerate(program) if handle and line.head == f"WAIT {handle}"]
        uses = _of(program, program[position].stage, "STEP", "NORM", "SCALE", "TIE")
        found += [(program, end, n + 1) for end in ends for n in uses if n > end][:1]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def added_while_reduced(rng: Random, draft: Draft) -> Draft | None:
    """A contribution is added while a reduction runs."""
    found = [p[n] for p, n in draft.spots("REDUCE") if _handle(p[n])]
    if not found:
        return None
    return _before_last(rng, draft, "REDUCE")


def cleared_while_reduced(rng: Random, draft: Draft) -> Draft | None:
    """A gradient is cleared while its reduction runs."""
    found = [(p, n) for p, n in draft.spots("REDUCE") if _handle(p[n])]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    program, position = chosen
    program.insert(position + 1, Line(f"{program[position].stage}ZERO"))
    return draft
