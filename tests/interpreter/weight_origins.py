"""Random legal schedules under every weight policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter.drafts import Draft, Line
from tests.interpreter.observation import observe
from tests.interpreter.orders import Op, Plan, Writer, order, plan
from tests.interpreter.spec import read_spec
from tests.interpreter.weights import StageWeights

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


def _plan(rng: Random, each: int, steps: int) -> Plan:
    made = plan(rng, ranks=2, stages=2)
    made.ids = each * steps
    made.loads = made.losses = False
    return made


def _stepped(
    rng: Random, made: Plan, each: int, ready: Callable[[Op, set[Op]], bool]
) -> tuple[Draft, list[Op]]:
    """A draft with a STEP of each stage after its contributions of each step."""
    steps = made.ids // each
    made.extra += [("STEP", stage, turn) for stage in range(made.stages) for turn in range(steps)]

    def allowed(op: Op, done: set[Op]) -> bool:
        kind, stage, number = op
        if kind == "STEP":
            ids = range(number * each, (number + 1) * each)
            earlier = number == 0 or ("STEP", stage, number - 1) in done
            return earlier and all((made.closing, stage, m) in done for m in ids)
        return ready(op, done)

    listed = order(rng, made, allowed)
    draft = Writer(rng, made, each).write(listed)
    draft.keys["steps"] = str(steps)
    return draft, listed


def _after_step(op: Op, done: set[Op], each: int, back: int = 1) -> bool:
    """Whether the STEP that many steps before the one of a microbatch is done."""
    _, stage, microbatch = op
    turn = microbatch // each - back
    return turn < 0 or ("STEP", stage, turn) in done


def annotate(rng: Random, draft: Draft, *, often: float = 0.3) -> Draft:
    """Writes the version that is read anyway on some operations."""
    spec = read_spec(draft.text)
    for stage in range(draft.stages):
        weights, program = StageWeights(spec, stage), draft.of_stage(stage)
        for reading in weights.readings:
            line = program[reading.position]
            versions = {version for _, version in reading.versions}
            plain = "w" not in line.attributes and "bucket" not in line.attributes
            if plain and len(versions) == 1 and rng.random() < often:
                (version,) = versions
                if version.generation == 0:
                    line.attributes["w"] = str(version.number)
    return draft


def flush(rng: Random) -> Draft:
    """All operations of a step read one version."""
    each = rng.randint(1, 2)
    made = _plan(rng, each, 2)
    draft, _ = _stepped(
        rng, made, each, lambda op, done: op[0] != "F" or _after_step(op, done, each)
    )
    if rng.random() < 0.3:
        draft.keys["weights"] = "{policy: flush}"
    return annotate(rng, draft)


def _each(
    rng: Random, *, leads: tuple[float, ...] = (0.5, 0.9), recompute: bool = False
) -> tuple[Draft, list[Op]]:
    """A STEP after each backward, forwards running ahead."""
    made = _plan(rng, 1, rng.randint(2, 4))
    made.lead = rng.choice(leads)
    stages, every = range(made.stages), range(made.ids)
    if recompute:
        made.extra = [("R", s, m) for s in stages for m in every if rng.random() < 0.7]

    def ready(op: Op, done: set[Op]) -> bool:
        kind, stage, microbatch = op
        if kind not in ("B", "I", "W"):
            return True
        above = stage == made.stages - 1 or ("STEP", stage + 1, microbatch) in done
        before = microbatch == 0 or ("STEP", stage, microbatch - 1) in done
        return above and (before or kind == "I")

    draft, listed = _stepped(rng, made, 1, ready)
    draft.microbatches = made.ids
    draft.keys["steps"] = "1"
    return draft, listed


def _stashed(rng: Random, draft: Draft) -> Draft:
    """Lets what comes after a forward read what it read."""
    for program, position in draft.spots("B", "I", "W", "R"):
        line = program[position]
        free = line.kind == "W" and rng.random() < 0.2
        line.attributes["w"] = "none" if free else "stash"
    _relax(rng, draft)
    return draft


def _relax(rng: Random, draft: Draft) -> None:
    """Leaves w=stash away in some places where the current version is the same."""
    for program, position in draft.spots("B", "I", "W", "R"):
        line = program[position]
        if line.attributes.get("w") == "stash" and rng.random() < 0.2:
            del line.attributes["w"]
            if not observe(draft.text).legal:
                line.attributes["w"] = "stash"


def _claims(rng: Random, draft: Draft) -> None:
    """Writes the version that some stashes hold."""
    spec = read_spec(draft.text)
    for stage in range(draft.stages):
        weights, program = StageWeights(spec, stage), draft.of_stage(stage)
        for reading in weights.readings:
            line = program[reading.position]
            stashed = line.attributes.get("w") == "stash" and line.kind != "R"
            if stashed and rng.random() < 0.3:
                line.attributes["wv"] = str(min(version.number for _, version in reading.versions))


def _slots(rng: Random, draft: Draft, chance: float = 0.5) -> Draft:
    """Bounds the versions that are kept, as tightly as is legal."""
    if rng.random() < chance:
        for slots in range(1, 9):
            draft.keys["storage"] = f"{{weights: {{slots: {slots}}}}}"
            if observe(draft.text).legal:
                break
    return draft


def stash(rng: Random) -> Draft:
    """A backward reads what its forward read."""
    draft, _ = _each(rng, recompute=rng.random() < 0.4)
    draft.keys["weights"] = "{policy: stash, updates: microbatch}"
    _claims(rng, _stashed(rng, draft))
    return _slots(rng, annotate(rng, draft, often=0.1))


def recomputed(rng: Random) -> Draft:
    """Forwards are recomputed with the weights they read."""
    draft, _ = _each(rng, recompute=True)
    draft.keys["weights"] = "{policy: stash, updates: microbatch}"
    return _stashed(rng, draft)


def vertical(rng: Random) -> Draft:
    """All stages read for one microbatch what the first stage read."""
    draft, listed = _each(rng)
    draft.keys["weights"] = "{policy: vertical, updates: microbatch}"
    read = {
        op[2]: sum(other[:2] == ("STEP", 0) for other in listed[:place])
        for place, op in enumerate(listed)
        if op[:2] == ("F", 0)
    }
    for program, position in draft.spots("F"):
        line = program[position]
        if line.stage:
            line.attributes["w"] = str(read[line.microbatch])
    return _slots(rng, _stashed(rng, draft))


def double_buffered(rng: Random) -> Draft:
    """Every step reads the version before the current one."""
    each = rng.randint(1, 2)
    made = _plan(rng, each, 3 if each == 1 else 2)
    late = made.closing

    def ready(op: Op, done: set[Op]) -> bool:
        back = {"F": 2, late: 1}.get(op[0])
        return back is None or _after_step(op, done, each, back)

    draft, _ = _stepped(rng, made, each, ready)
    draft.keys["weights"] = "{policy: 2bw}"
    for program, position in draft.spots("F", "B", "I", "W"):
        line = program[position]
        version = max(line.microbatch // each - 1, 0)
        follows = line.kind != "F" and rng.random() < 0.5
        line.attributes["w"] = "stash" if follows else str(version)
    _relax(rng, draft)
    return draft


def latest(rng: Random) -> Draft:
    """Nothing is stashed; how far versions lie apart is bounded."""
    draft, _ = _each(rng, leads=(0.1, 0.5, 0.9))
    draft.keys["weights"] = "{policy: latest, updates: microbatch}"
    for bound in range(9):
        draft.keys["bounds"] = f"{{staleness: {bound}}}"
        if observe(draft.text).legal:
            break
    return draft


def speculative(rng: Random) -> Draft:
    """Forwards read a version before it is committed."""
    if rng.random() < 0.25:
        return _withdrawn(rng)
    each = rng.randint(1, 2)
    made = _plan(rng, each, 2)
    made.extra = [("COMMIT", stage, 0) for stage in range(made.stages)]
    made.lead = 0.9

    def ready(op: Op, done: set[Op]) -> bool:
        kind, stage, microbatch = op
        if kind == "COMMIT":
            return ("STEP", stage, 0) in done
        late = kind in ("B", "I", "W") and microbatch >= each
        if late and ("COMMIT", stage, 0) not in done:
            return False
        return kind != "F" or _after_step(op, done, each)

    draft, _ = _stepped(rng, made, each, ready)
    draft.keys["weights"] = "{policy: speculative}"
    return draft


def _withdrawn(rng: Random) -> Draft:
    """One stage, whose first update is withdrawn and made again."""
    each = rng.randint(1, 2)
    backward = ["I", "W"] if rng.random() < 0.5 else ["B"]
    first, second = range(each), range(each, 2 * each)

    def work(kinds: list[str], ids: range) -> list[str]:
        return [f"0{kind}{m}" for m in ids for kind in kinds]

    again = range(each, each + rng.randint(1, each))
    heads = [
        *work(["F", *backward], first),
        "0STEP",
        *work(["F"], again),
        "0ROLLBACK",
        "0STEP",
        *work(["F"], second),
        *work(backward, second),
        "0STEP",
    ]
    keys = {"transport": "rendezvous", "steps": "2", "weights": "{policy: speculative}"}
    return Draft(1, each, [0], [[Line(head) for head in heads]], keys)


def gathered(rng: Random) -> Draft:
    """Forwards read a copy that is gathered bucket by bucket."""
    draft = flush(rng)
    for stage in range(draft.stages):
        program = draft.of_stage(stage)
        fresh = False
        for position in range(len(program) - 1, -1, -1):
            line = program[position]
            if line.stage == stage and line.kind == "STEP":
                fresh = any(other.stage == stage for other in program[position + 1 :])
                if fresh:
                    program[position + 1 : position + 1] = _gathers(rng, stage)
            elif line.stage == stage and line.kind == "F":
                parts = [Line(line.head, {**line.attributes, "bucket": b}) for b in "ab"]
                program[position : position + 1] = parts
    for program, position in draft.every():
        program[position].attributes.pop("w", "")
    return draft


def _gathers(rng: Random, stage: int) -> list[Line]:
    if rng.random() < 0.2:
        return [Line(f"{stage}GATHER")]
    return [Line(f"{stage}GATHER", {"bucket": b}) for b in rng.sample("ab", 2)]


def cached(rng: Random) -> Draft:
    """Forwards read a copy that the first of each step makes."""
    draft = flush(rng)
    for stage in range(draft.stages):
        filled: set[int] = set()
        for line in draft.of_stage(stage):
            if line.stage == stage and line.kind == "F":
                turn = line.microbatch // draft.microbatches
                line.attributes = {"w": "cache"} | ({} if turn in filled else {"fill": "1"})
                filled.add(turn)
    return draft
