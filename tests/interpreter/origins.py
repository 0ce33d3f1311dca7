"""Random legal schedules with storage, bounds, recomputation and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter import weight_origins
from tests.interpreter.drafts import Draft, Line
from tests.interpreter.facts import peaks
from tests.interpreter.naming import name_storage, pool_storage
from tests.interpreter.observation import observe
from tests.interpreter.orders import Plan, Writer, order, plan
from tests.interpreter.spec import read_spec

if TYPE_CHECKING:
    from random import Random


def _written(rng: Random, made: Plan) -> Draft:
    return Writer(rng, made, made.ids).write(order(rng, made))


def named(rng: Random) -> Draft:
    """Storage by name, taken again as soon as it may be."""
    made = plan(rng, ids=3, least=2)
    return name_storage(rng, _written(rng, made))


def handled(rng: Random) -> Draft:
    """Storage by name, messages between two ranks or three with handles."""
    made = plan(rng, ids=3, least=2)
    while len(set(made.placement)) < 2:
        made = plan(rng, ids=3, least=2)
    made.mode = "handles"
    return name_storage(rng, _written(rng, made), free=0.6)


def pooled(rng: Random) -> Draft:
    """Storage in pools with as few slots as are legal."""
    made = plan(rng, ids=3, least=2)
    made.lead = rng.choice([0.5, 0.9])
    return pool_storage(rng, _written(rng, made))


def live(rng: Random) -> Draft:
    """A bound on live forwards that is reached, and further holds."""
    made = plan(rng, ids=4, least=2)
    made.loads = False
    draft = _written(rng, made)
    for program in draft.programs:
        if rng.random() < 0.8:
            start = rng.randint(0, len(program) - 1)
            end = rng.randint(start + 1, len(program))
            count = rng.randint(1, 3)
            program.insert(end, Line(f"DROP {count}"))
            program.insert(start, Line(f"HOLD {count}"))
    for bound in range(20):
        draft.keys["bounds"] = f"{{live: {bound}}}"
        if observe(draft.text).legal:
            break
    return draft


def memory(rng: Random) -> Draft:
    """A bound on memory that is reached."""
    if rng.random() < 0.4:
        draft = weight_origins.stash(rng)
        while any("h" in p[n].attributes for p, n in draft.spots("SEND", "RECV")):
            draft = weight_origins.stash(rng)
        draft.keys["transport"] = "rendezvous"
    else:
        made = plan(rng, ids=4)
        made.mode = "blocking"
        draft = _written(rng, made)
    sizes = {name: rng.randint(1, 9) for name in ("F", "B", "keep", "weights", "grads", "state")}
    chosen = rng.sample(sorted(sizes), rng.randint(2, 6))
    draft.keys["sizes"] = "{" + ", ".join(f"{name}: {sizes[name]}MiB" for name in chosen) + "}"
    spec = read_spec(draft.text)
    peak = max(max(peaks(spec, rank)) for rank in range(len(draft.programs)))
    draft.keys["bounds"] = f"{{memory: {peak}}}"
    return draft


def recomputing(rng: Random) -> Draft:
    """Recomputations with the random state of their forwards."""
    made = plan(rng, ranks=2, ids=3)
    made.extra = [("R", s, m) for s in range(made.stages) for m in range(made.ids)]
    draft = _written(rng, made)
    contexts = rng.random() < 0.4
    for program, position in draft.spots("F", "R"):
        line = program[position]
        line.attributes["rng"] = f"g{line.stage}m{line.microbatch}"
        if contexts:
            line.attributes["ctx"] = f"c{line.stage}"
        if line.kind == "F" and line.stage == 0 and made.ids > 1:
            line.attributes["state"] = "stats"
    return draft


def saved(rng: Random) -> Draft:
    """A checkpoint at the end, and a restart from it."""
    made = plan(rng, ranks=2, ids=3)
    made.mode = "blocking" if rng.random() < 0.6 else "handles"
    draft = _written(rng, made)
    steps = rng.random() < 0.5
    flight = "async=versions,pending,order,rng,data"
    save = "SAVE" if rng.random() < 0.6 else f"SAVE {flight}"
    for rank, program in enumerate(draft.programs):
        mine = [s for s in range(made.stages) if made.placement[s] == rank and steps]
        program[:0] = [Line(f"CONSUME {made.ids}")]
        program += [Line(f"{stage}STEP") for stage in mine]
        program += [Line(save), Line("RESUME", {"at": str(made.ids)})]
        program.append(Line("RESTORE rng", {"have": f"r{rank}", "want": f"r{rank}"}))
    return draft
