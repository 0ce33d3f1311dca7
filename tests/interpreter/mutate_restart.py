"""Mutations of recomputation and restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter.mutate_storage import move, pick

if TYPE_CHECKING:
    from random import Random

    from tests.interpreter.drafts import Draft

_FLIGHT = ("versions", "pending", "order", "rng", "data")


def other_random_state(rng: Random, draft: Draft) -> Draft | None:
    """A forward and its recomputation differ in what they start from."""
    chosen = pick(rng, [p[n] for p, n in draft.spots("F", "R") if "rng" in p[n].attributes])
    if chosen is None:
        return None
    key = rng.choice([k for k in ("rng", "ctx") if k in chosen.attributes])
    if rng.random() < 0.5:
        del chosen.attributes[key]
    else:
        chosen.attributes[key] += "x"
    return draft


def updated_again(rng: Random, draft: Draft) -> Draft | None:
    """A recomputation updates what its forward has updated."""
    chosen = pick(rng, [p[n] for p, n in draft.spots("R")])
    if chosen is None:
        return None
    chosen.attributes["state"] = "stats"
    return draft


def registers_out_of_order(rng: Random, draft: Draft) -> Draft | None:
    """A forward takes a register after the forward of a later microbatch."""
    found = []
    for program, position in draft.spots("F"):
        line = program[position]
        if line.attributes.get("state") and not line.stage:
            later = [
                n
                for n in range(position + 1, len(program))
                if program[n].kind == "F" and program[n].stage == 0
            ]
            found += [(program, later[0], position)] if later else []
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def saved_early(rng: Random, draft: Draft) -> Draft | None:
    """A checkpoint is taken before all is done."""
    found = []
    for program, position in draft.spots("SAVE"):
        starts = [n for n in range(position) if program[n].kind in "FBIW"]
        if starts and program[position].head == "SAVE":
            found.append((program, position, rng.randint(starts[0] + 1, position - 1)))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def resumed_elsewhere(rng: Random, draft: Draft) -> Draft | None:
    """A restart goes on at another microbatch than was saved, in all ranks."""
    for program, position in draft.spots("RESUME"):
        line = program[position]
        line.attributes["at"] = str(int(line.attributes["at"]) + 1)
    del rng
    return draft


def consumed_more(rng: Random, draft: Draft) -> Draft | None:
    """More microbatches were taken from the data than a restart goes on at."""
    chosen = pick(rng, [p[n] for p, n in draft.spots("CONSUME")])
    if chosen is None:
        return None
    chosen.head = f"CONSUME {chosen.read.count + rng.randint(1, 3)}"
    return draft


def flight_left_out(rng: Random, draft: Draft) -> Draft | None:
    """A checkpoint in flight lacks something."""
    found = [p[n] for p, n in draft.spots("SAVE") if "async" in p[n].head]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    gone = rng.choice(_FLIGHT)
    chosen.head = "SAVE async=" + ",".join(name for name in _FLIGHT if name != gone)
    return draft


def restored_another(rng: Random, draft: Draft) -> Draft | None:
    """Something else is restored than was saved."""
    chosen = pick(rng, [p[n] for p, n in draft.spots("RESTORE")])
    if chosen is None:
        return None
    chosen.attributes["have"] = "r9"
    return draft
