"""Random legal schedules whose gradients are scaled, reduced, tied and normed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tests.interpreter.drafts import Draft, Line
from tests.interpreter.orders import Op, Plan, Writer, order, plan

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class Wish:
    """What the gradients of a draft go through; a draft of a rule insists on some of it."""

    each: int = 1
    steps: int = 1
    step: bool = True
    coefficients: str = ""
    asked: tuple[Fraction, ...] = ()
    scale: Fraction = Fraction(1)
    parts: bool = False
    parameters: bool = False
    zero: bool = False
    stale: bool = False
    reduce: str = ""
    handle: bool = False
    tied: tuple[int, ...] = ()
    reduce_first: bool = False
    norm: bool = False
    last: bool = False


def _asked(rng: Random, each: int) -> tuple[str, tuple[Fraction, ...]]:
    """What is asked for, as written and as numbers."""
    match rng.choice(["", "mean", "sum", "tokens", "list"]):
        case "mean":
            return "mean", (Fraction(1, each),) * each
        case "tokens":
            tokens = [rng.randint(1, 6) for _ in range(each)]
            return f"{{tokens: {tokens}}}", tuple(Fraction(t, sum(tokens)) for t in tokens)
        case "list":
            asked = tuple(Fraction(1, rng.randint(1, 4)) for _ in range(each))
            return "[" + ", ".join(map(str, asked)) + "]", asked
        case named:
            return named, (Fraction(1),) * each


def gradients(
    rng: Random,
    *,
    least: int = 1,
    ranks: int = 1,
    insist: frozenset[str] = frozenset(),
) -> Draft:
    """A schedule with gradients; `insist` names fields of `Wish` that must be set."""
    made = plan(rng, ranks=2, stages=2)
    while max(made.placement) + 1 < ranks:
        made = plan(rng, ranks=2, stages=2)
    made.loads = made.losses = False
    each = rng.randint(least, 3)
    steps = 2 if each < 3 and rng.random() < 0.25 else 1
    made.ids = each * steps

    def has(name: str, chance: float) -> bool:
        return name in insist or rng.random() < chance

    coefficients, asked = _asked(rng, each)
    across = made.stages == 2 and made.placement[0] != made.placement[1]
    reduces = has("reduce", 0.4)
    wish = Wish(
        each,
        steps,
        steps == 2 or has("step", 0.8),
        coefficients,
        asked,
        Fraction(1, rng.randint(2, 4)) if has("scale", 0.3) else Fraction(1),
        has("parts", 0.2),
        has("parameters", 0.2),
        has("zero", 0.4),
        has("stale", 0.3),
        rng.choice(["default", "required", "once"]) if reduces else "",
        has("handle", 0.5),
        (0, 1) if across and has("tied", 0.3) else (),
        rng.random() < 0.5,
        has("norm", 0.3),
        has("last", 0.2),
    )
    return _draft(rng, made, wish)


def _draft(rng: Random, made: Plan, wish: Wish) -> Draft:
    leads = [stage for stage in range(made.stages) if stage not in wish.tied[1:]]
    made.extra = [("TAIL", stage, turn) for stage in leads for turn in range(wish.steps)]
    made.together = {wish.tied[0]: list(wish.tied)} if wish.tied else {}
    lead = {stage: wish.tied[0] if stage in wish.tied else stage for stage in range(made.stages)}

    def ready(op: Op, done: set[Op]) -> bool:
        kind, stage, number = op
        if kind == "TAIL":
            ids = range(number * wish.each, (number + 1) * wish.each)
            stages = made.together.get(stage, [stage])
            return all((made.closing, s, m) in done for s in stages for m in ids)
        turn = number // wish.each - 1
        return turn < 0 or ("TAIL", lead[stage], turn) in done

    draft = Writer(rng, made, wish.each).write(order(rng, made, ready))
    draft.keys |= _keys(made, wish)
    for stage in range(made.stages):
        _fill(rng, draft, stage, made, wish)
    return draft


def _keys(made: Plan, wish: Wish) -> dict[str, str]:
    """The keys of the file that ask for what the wish does."""
    asked = [f"coefficients: {wish.coefficients}"] if wish.coefficients else []
    if wish.reduce in ("required", "once"):
        asked.append(f"reduce: {wish.reduce}")
    if wish.tied:
        asked.append(f"tied: [{list(wish.tied)}]")
    if wish.norm:
        asked.append("norm: all")
    keys = {"gradients": "{" + ", ".join(asked) + "}"} if asked else {}
    del made
    return keys | ({"steps": str(wish.steps)} if wish.steps > 1 else {})


def _fill(rng: Random, draft: Draft, stage: int, made: Plan, wish: Wish) -> None:
    """Puts coefficients on contributions, and writes what stands around them."""
    program, filled = draft.of_stage(stage), list[Line]()
    first, tails = True, 0
    for line in program:
        mine = line.stage == stage
        if mine and line.kind == made.closing:
            closes = line.microbatch % wish.each == wish.each - 1
            filled += [
                *(_head(stage, wish) if first else []),
                *_adding(rng, line, wish, closes=closes),
            ]
            first = False
        elif mine and line.kind == "TAIL":
            tails += 1
            filled += _tail(draft, stage, wish, tails)
            first = True
        else:
            filled.append(line)
    program[:] = filled


def _head(stage: int, wish: Wish) -> list[Line]:
    """What stands before the first contribution of a step."""
    stale = [Line(f"{stage}STALE")] if wish.stale else []
    return [*stale, *([Line(f"{stage}ZERO")] if wish.zero or wish.stale else [])]


def _adding(rng: Random, line: Line, wish: Wish, *, closes: bool) -> list[Line]:
    """One contribution, perhaps in parts."""
    asked = wish.asked[line.microbatch % wish.each] / wish.scale
    shares = [asked]
    if wish.parts and (line.kind == "W" or rng.random() < 0.5):
        share = Fraction(1, rng.randint(2, 4))
        shares = [asked * share, asked * (1 - share)]
    names = ["w", "b"] if wish.parameters else [""]
    found = []
    for name in names:
        for share in shares:
            other = Line(line.head, dict(line.attributes))
            if name:
                other.attributes["param"] = name
            if share != 1 or len(shares) > 1 or rng.random() < 0.1:
                other.attributes["c"] = str(share)
            found.append(other)
    if wish.last:
        for other in found:
            other.attributes["last"] = "yes" if closes and other is found[-1] else "no"
    return found


def _tail(draft: Draft, stage: int, wish: Wish, turn: int) -> list[Line]:
    """What stands after the last contribution of a step."""
    found = [Line(f"{stage}SCALE", {"by": str(wish.scale)})] if wish.scale != 1 else []
    tie = _tie(draft, stage, wish)
    reduce = _reduce(stage, wish, turn)
    found += [*reduce, *tie] if wish.reduce_first else [*tie, *reduce]
    if wish.norm:
        ranks = ",".join(str(rank) for rank in range(len(draft.programs)))
        found.append(Line(f"{stage}NORM", {"ranks": ranks}))
    return [*found, *([Line(f"{stage}STEP")] if wish.step else [])]


def _tie(draft: Draft, stage: int, wish: Wish) -> list[Line]:
    if stage not in wish.tied:
        return []
    ranks = ",".join(str(draft.placement[each]) for each in wish.tied)
    named = {"param": "w"} if wish.parameters and wish.each > 1 else {}
    return [Line(f"{stage}TIE", {"ranks": ranks, **named})]


def _reduce(stage: int, wish: Wish, turn: int) -> list[Line]:
    if not wish.reduce:
        return []
    if not wish.handle:
        return [Line(f"{stage}REDUCE")]
    handle = f"g{stage}t{turn}"
    return [Line(f"{stage}REDUCE", {"h": handle}), Line(f"WAIT {handle}")]
