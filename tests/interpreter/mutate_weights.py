"""Mutations of weight versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter.mutate_storage import lower, move, pick
from tests.interpreter.spec import read_spec
from tests.interpreter.weights import StageWeights

if TYPE_CHECKING:
    from random import Random

    from tests.interpreter.drafts import Draft, Line

_AFTER = ("B", "I", "W")


def stash_left_out(rng: Random, draft: Draft) -> Draft | None:
    """A backward reads the latest version instead of the stashed one."""
    return _unstash(rng, draft, _AFTER)


def recomputed_with_latest(rng: Random, draft: Draft) -> Draft | None:
    """A recomputation reads the latest version instead of the stashed one."""
    return _unstash(rng, draft, ("R",))


def _unstash(rng: Random, draft: Draft, kinds: tuple[str, ...]) -> Draft | None:
    found = []
    for program, position in draft.spots(*kinds):
        line = program[position]
        if line.attributes.get("w") == "stash":
            own = (line.stage, line.microbatch)
            moved = any(
                other.kind == "STEP" and other.stage == line.stage
                for other in _between(program, own, position)
            )
            found += [line] if moved or rng.random() < 0.01 else []
    chosen = pick(rng, found)
    if chosen is None:
        return None
    del chosen.attributes["w"]
    chosen.attributes.pop("wv", "")
    return draft


def _between(program: list[Line], own: tuple[int, int], position: int) -> list[Line]:
    """The lines between the forward of an operation and the operation."""
    for number in range(position, -1, -1):
        line = program[number]
        if line.kind == "F" and (line.stage, line.microbatch) == own:
            return program[number:position]
    return []


def claims_another(rng: Random, draft: Draft) -> Draft | None:
    """A stash claims to hold another version than the one its forward read."""
    found = [p[n] for p, n in draft.spots(*_AFTER) if p[n].attributes.get("w") == "stash"]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    (numbers,) = [numbers for line, numbers in _versions(draft) if line is chosen]
    chosen.attributes["wv"] = str(_beside(rng, min(numbers)))
    return draft


def _versions(draft: Draft) -> list[tuple[Line, list[int]]]:
    """The version numbers that each operation reads."""
    spec = read_spec(draft.text)
    return [
        (draft.of_stage(stage)[r.position], sorted(v.number for _, v in r.versions))
        for stage in range(draft.stages)
        for r in StageWeights(spec, stage).readings
    ]


def _beside(rng: Random, number: int) -> int:
    """The version before or after."""
    return number + 1 if number == 0 or rng.random() < 0.5 else number - 1


def reads_beside(rng: Random, draft: Draft) -> Draft | None:
    """A backward names the version before or after the one that its forward read."""
    found = [
        (line, numbers)
        for line, numbers in _versions(draft)
        if line.kind in _AFTER and numbers and "bucket" not in line.attributes
    ]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    line, numbers = chosen
    line.attributes.pop("wv", "")
    line.attributes["w"] = str(_beside(rng, numbers[0]))
    return draft


def never_filled(rng: Random, draft: Draft) -> Draft | None:
    """A cached copy is read that nobody filled in this step."""
    found = [p[n] for p, n in draft.spots("F") if "fill" in p[n].attributes]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    del chosen.attributes["fill"]
    return draft


def gathered_late(rng: Random, draft: Draft) -> Draft | None:
    """A bucket is gathered after it is used."""
    found = []
    for program, position in draft.spots("GATHER"):
        line = program[position]
        uses = [
            n
            for n in range(position, len(program))
            if program[n].kind == "F" and program[n].stage == line.stage
            if line.attributes.get("bucket", program[n].attributes["bucket"])
            == program[n].attributes["bucket"]
        ]
        found += [(program, position, uses[0] + 1)] if uses else []
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def all_read_beside(rng: Random, draft: Draft) -> Draft | None:
    """All operations of a stage on a microbatch read the version before or after the asked."""
    asked: dict[tuple[int, int], list[tuple[Line, list[int]]]] = {}
    for line, numbers in _versions(draft):
        if numbers and line.kind != "R":
            asked.setdefault((line.stage, line.microbatch), []).append((line, numbers))
    late = [
        own for own in sorted(asked) if "vertical" not in draft.keys.get("weights", "") or own[0]
    ]
    chosen = pick(rng, late)
    if chosen is None:
        return None
    number = _beside(rng, asked[chosen][0][1][0])
    for line, _ in asked[chosen]:
        line.attributes.pop("wv", "")
        line.attributes["w"] = str(number)
    return draft


def no_such_version(rng: Random, draft: Draft) -> Draft | None:
    """All operations of a stage on a microbatch read a version that is never made."""
    chosen = pick(rng, [(p[n].stage, p[n].microbatch) for p, n in draft.spots("F")])
    if chosen is None:
        return None
    number = str(20 + rng.randint(0, 3))
    for program, position in draft.spots("F", *_AFTER):
        line = program[position]
        if (line.stage, line.microbatch) == chosen:
            line.attributes.pop("wv", "")
            line.attributes["w"] = number
    return draft


def fresher_asked(_rng: Random, draft: Draft) -> Draft | None:
    """One update fewer may lie between reading and use."""
    return draft if lower(draft, "bounds", r"staleness: (\d+)") else None


def forward_before_step(rng: Random, draft: Draft) -> Draft | None:
    """A forward of the first stage stands before the STEP before it."""
    found = []
    bound = int(draft.keys["bounds"].removeprefix("{staleness: ").removesuffix("}"))
    for program, position in draft.spots("F"):
        own = (0, program[position].microbatch)
        steps = [n for n in range(position) if program[n].kind == "STEP" and not program[n].stage]
        ends = [n for n, line in enumerate(program) if _closes(line, own)]
        between = [n for end in ends for n in range(position, end) if program[n].head == "0STEP"]
        if program[position].stage == 0 and steps and len(between) + 1 > bound:
            found.append((program, position, steps[-1]))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def _closes(line: Line, own: tuple[int, int]) -> bool:
    return line.kind in ("B", "W") and (line.stage, line.microbatch) == own


def fewer_versions_kept(_rng: Random, draft: Draft) -> Draft | None:
    """One version fewer is kept."""
    if "slots: 1}" in draft.keys.get("storage", ""):
        return None
    if lower(draft, "storage", r"weights: {slots: (\d+)"):
        return draft
    if "2bw" not in draft.keys.get("weights", ""):
        return None
    draft.keys["storage"] = "{weights: {slots: 1}}"
    return draft


def step_before_reader(rng: Random, draft: Draft) -> Draft | None:
    """A STEP overwrites the version that a later operation still reads."""
    spec = read_spec(draft.text)
    slots = spec.number("storage.weights.slots")
    if slots is None:
        return None
    found = []
    for stage in range(draft.stages):
        weights, program = StageWeights(spec, stage), draft.of_stage(stage)
        for fate in weights.fates:
            old = {version.number - slots for version in fate.made.values()}
            found += [
                (program, fate.position, reading.position)
                for reading in weights.readings
                if reading.position < fate.position
                and not any(
                    reading.position < other.position < fate.position for other in weights.fates
                )
                and reading.step.get("w")
                and old & {version.number for _, version in reading.versions}
            ]
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def used_before_commit(rng: Random, draft: Draft) -> Draft | None:
    """A version is committed after a backward has read it."""
    found = []
    for program, position in draft.spots("COMMIT", "ROLLBACK"):
        line = program[position]
        later = [
            n
            for n in range(position + 1, len(program))
            if program[n].kind in ("B", "I", "W") and program[n].stage == line.stage
        ]
        if later and line.kind == "COMMIT":
            found.append((program, position, later[0] + 1))
    chosen = pick(rng, found)
    if chosen is None:
        return None
    move(*chosen)
    return draft


def nobody_speculates(_rng: Random, draft: Draft) -> Draft | None:
    """The policy lets no forward read what is not committed."""
    if "speculative" not in draft.keys.get("weights", ""):
        return None
    draft.keys["weights"] = "{policy: flush}"
    return draft
