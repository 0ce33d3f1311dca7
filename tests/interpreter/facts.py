"""What else a schedule must keep: bounds on what is alive, recomputation, restarts, order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.interpreter.accesses import RankStorage
from tests.interpreter.spec import texts_of
from tests.interpreter.weights import START, StageWeights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec
    from tests.interpreter.versions import Fault
    from tests.interpreter.weights import Version

_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "B": 1}
_IN_FLIGHT = frozenset(("versions", "pending", "order", "rng", "data"))


def facts(spec: Spec) -> frozenset[Fault]:
    """Every fault, by the rule that is named after it."""
    found: set[Fault] = set()
    for rank, program in enumerate(spec.programs):
        found.update(_live(spec, rank, program))
        found.update(_memory(spec, rank))
        found.update(_recomputed(program))
        found.update(_registers(program))
        found.update(_saved(spec, program))
        found.update(_restored(program))
        found.update(_order(program))
    return frozenset(found)


def _ends_life(program: Sequence[Instruction], step: Instruction) -> bool:
    """Whether a forward's life ends here: at its weight gradient where that is split."""
    split = any(
        s.kind == "I" and (s.stage, s.microbatch) == (step.stage, step.microbatch) for s in program
    )
    return step.kind == ("W" if split else "B")


def _live(spec: Spec, rank: int, program: Sequence[Instruction]) -> Iterator[Fault]:
    bound, held, holds = spec.number("bounds.live"), 0, 0
    alive: set[tuple[int, int]] = set()
    for step in program:
        if step.kind == "F":
            alive.add((step.stage, step.microbatch))
        elif step.kind in ("HOLD", "DROP"):
            change = step.count if step.kind == "HOLD" else -step.count
            held, holds = held + change, holds + change
        elif _ends_life(program, step):
            alive.discard((step.stage, step.microbatch))
        if bound is not None and step.kind in ("F", "HOLD") and len(alive) + held > bound:
            yield "PP506", f"r{rank} {step.identity}"
    if holds > 0:
        yield "PP507", f"r{rank}"


def size(text: str) -> int:
    """A number of bytes."""
    for unit, factor in _UNITS.items():
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * factor
    return int(text)


def _size(spec: Spec, name: str, stage: int) -> int:
    node = spec.node(f"sizes.{name}")
    if node is None:
        return 0
    return size(node if isinstance(node, str) else texts_of(node)[stage])


def peaks(spec: Spec, rank: int) -> list[int]:
    """The bytes that are alive at the start of each instruction; messages must be blocking."""
    program, storage = spec.programs[rank], RankStorage(spec, rank)
    spans: dict[str, tuple[int, int]] = {}
    for position, touches in enumerate(storage.touches):
        for touch in touches:
            made = {value for values in touch.writes.values() for value in values}
            made |= {tag for _, tag in touch.tags}
            for value in made:
                spans[value] = (position, position)
            for value in {value for value, _ in touch.reads if value in spans}:
                spans[value] = (spans[value][0], position)
    mine = [stage for stage in range(spec.stages) if spec.placement[stage] == rank]
    fixed = sum(_size(spec, name, stage) for stage in mine for name in ("grads", "state"))
    versions = [(_size(spec, "weights", stage), _kept(StageWeights(spec, stage))) for stage in mine]
    for value, (start, _) in spans.items():
        if value[0] == "K" and not _closes(program, value):
            spans[value] = (start, len(program))
    return [
        fixed
        + sum(each * count[position] for each, count in versions)
        + sum(
            _bytes(spec, value) for value, (start, end) in spans.items() if start <= position <= end
        )
        for position in range(len(program))
    ]


def _kept(weights: StageWeights) -> list[int]:
    """How many versions are current, or still to be read, at each position."""
    made = {v: fate.position for fate in weights.fates for v in fate.made.values()}
    last: dict[Version, int] = {}
    for reading in weights.readings:
        last |= {version: reading.position for _, version in reading.versions}
    return [
        len(
            {version for version, end in last.items() if made.get(version, -1) < position <= end}
            | {_current(weights, position)}
        )
        for position in range(weights.end)
    ]


def _current(weights: StageWeights, position: int) -> Version:
    """The version that is current at a position, where none is withdrawn."""
    made = [v for fate in weights.fates if fate.position < position for v in fate.made.values()]
    return made[-1] if made else START


def _closes(program: Sequence[Instruction], kept: str) -> bool:
    stage, microbatch = map(int, kept[1:].split("."))
    return any(
        (s.stage, s.microbatch) == (stage, microbatch) and _ends_life(program, s) for s in program
    )


def _bytes(spec: Spec, value: str) -> int:
    if value[0] not in "FBK" or "." not in value:
        return 0
    stage = value[1 : value.index(".")]
    return _size(spec, {"K": "keep"}.get(value[0], value[0]), int(stage)) if stage.isdigit() else 0


def _memory(spec: Spec, rank: int) -> Iterator[Fault]:
    bound = spec.key("bounds.memory")
    if not bound:
        return
    for position, alive in enumerate(peaks(spec, rank)):
        if alive > size(bound):
            yield "PP506", f"r{rank} {spec.programs[rank][position].identity}"


def _recomputed(program: Sequence[Instruction]) -> Iterator[Fault]:
    forwards = {(s.stage, s.microbatch): s for s in program if s.kind == "F"}
    for step in program:
        forward = forwards.get((step.stage, step.microbatch))
        if step.kind != "R" or forward is None:
            continue
        differs = any(step.get(name) != forward.get(name) for name in ("rng", "ctx"))
        if differs or step.get("state"):
            yield "PP801", step.identity


def _registers(program: Sequence[Instruction]) -> Iterator[Fault]:
    """Registers that go from microbatch to microbatch in another order than the reference's."""
    highest: dict[tuple[int, str], int] = {}
    for step in program:
        if step.kind == "F" and step.get("state"):
            key = (step.stage, step.get("state"))
            if step.microbatch < highest.get(key, -1):
                yield "PP801", step.identity
            highest[key] = max(step.microbatch, highest.get(key, -1))


def _saved(spec: Spec, program: Sequence[Instruction]) -> Iterator[Fault]:
    for position, step in enumerate(program):
        if step.kind != "SAVE" or step.get("async"):
            continue
        before, after = program[:position], program[position + 1 :]
        if any(_open_forward(spec, program, s, before) for s in before if s.kind == "F"):
            yield "PP803", f"SAVE {position}"
        if any(_open_contribution(s, before, after) for s in before if s.kind in "BW"):
            yield "PP803", f"SAVE {position}"
        if _unread(before, after):
            yield "PP803", f"SAVE {position}"


def _open_forward(
    spec: Spec, program: Sequence[Instruction], forward: Instruction, before: Sequence[Instruction]
) -> bool:
    own = (forward.stage, forward.microbatch)
    closing = [s for s in program if (s.stage, s.microbatch) == own and _ends_life(program, s)]
    if any(s in before for s in closing):
        return False
    backward = any(spec.whole(kind) for kind in "BIW")
    return bool(closing) or (backward and not spec.fragment)


def _open_contribution(
    step: Instruction, before: Sequence[Instruction], after: Sequence[Instruction]
) -> bool:
    """Whether the update that takes a contribution stands after the checkpoint."""
    takes = ("STEP", "SKIP")
    rest = before[before.index(step) :]
    taken = any(s.kind in takes and s.stage == step.stage for s in rest)
    return not taken and any(s.kind in takes and s.stage == step.stage for s in after)


def _unread(before: Sequence[Instruction], after: Sequence[Instruction]) -> bool:
    """Whether what was computed, received or loaded before is read after."""
    brought = {m.value for s in before for m in s.messages if m.kind == "RECV"}
    brought |= {s.value for s in before if s.kind == "LOAD"}
    brought |= {f"F{s.stage}.{s.microbatch}" for s in before if s.kind == "F"}
    brought |= {f"B{s.stage}.{s.microbatch}" for s in before if s.kind in ("B", "I")}
    wanted: set[str] = set()
    for step in after:
        wanted |= {f"F{step.stage - 1}.{step.microbatch}"} if step.kind == "F" else set()
        wanted |= {f"X.{step.microbatch}"} if step.kind == "F" and not step.stage else set()
        wanted |= {f"B{step.stage + 1}.{step.microbatch}"} if step.kind in ("B", "I") else set()
        wanted |= {m.value for m in step.messages if m.kind == "SEND"}
        wanted |= {step.value} if step.kind == "USE" else set()
    return bool(brought & wanted)


def _restored(program: Sequence[Instruction]) -> Iterator[Fault]:
    place, saved_at, last = 0, None, ""
    for step in program:
        if step.kind == "CONSUME":
            place += step.count
        elif step.kind == "SAVE":
            saved_at, last = place, step.get("async")
        elif step.kind == "RESUME":
            lacking = bool(last) and not set(last.split(",")) >= _IN_FLIGHT
            if saved_at is not None and (int(step.get("at")) != saved_at or lacking):
                yield "PP804", step.identity
            place = int(step.get("at")) if saved_at is None else saved_at
        elif step.kind == "RESTORE" and step.get("have") != step.get("want"):
            yield "PP804", step.identity


def _order(program: Sequence[Instruction]) -> Iterator[Fault]:
    """Weight gradients before their input gradient, and operations that stand twice."""
    seen: Counter[str] = Counter()
    halves: set[tuple[int, int]] = set()
    for step in program:
        own = (step.stage, step.microbatch)
        if step.kind == "I":
            halves.add(own)
        if (
            step.kind == "W"
            and own not in halves
            and any(s.kind == "I" and (s.stage, s.microbatch) == own for s in program)
        ):
            yield "PP404", step.identity
        if step.kind in "BIW" and not step.get("param") and not step.get("c"):
            seen[step.identity] += 1
            if seen[step.identity] > 1:
                yield "PP102", step.identity
