"""Whether what the operations read is what the weight policy asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter.program import CONTRIBUTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec
    from tests.interpreter.weights import Reading, StageWeights, Version

_WORK = ("F", "B", "I", "W")

Fault = tuple[str, str]  # rule, identity of the operation


class Policy:
    """The weight policy of a schedule, held against what its stages read."""

    def __init__(self, spec: Spec, stages: list[StageWeights]) -> None:
        self.spec = spec
        self.stages = stages
        self.name = spec.key("weights.policy", "flush")
        self.each = spec.key("weights.updates") == "microbatch"

    def faults(self) -> frozenset[Fault]:
        """Every fault, by the rule that is named after it."""
        return frozenset(fault for stage in self.stages for fault in self._of_stage(stage))

    def _of_stage(self, weights: StageWeights) -> Iterator[Fault]:
        by_microbatch: dict[int, list[Reading]] = {}
        for reading in weights.readings:
            kind = reading.step.kind
            late = kind not in ("F", "R") or self.name != "speculative"
            if late and weights.uncommitted(reading):
                yield "PP605", reading.step.identity
            if kind != "F" or not weights.withdrawn(reading):
                by_microbatch.setdefault(reading.step.microbatch, []).append(reading)
        for microbatch, readings in by_microbatch.items():
            yield from self._recomputed(readings)
            mixed = [*self._mixed(readings)]
            yield from mixed
            if not mixed:
                yield from self._not_as_asked(weights, microbatch, readings)
            yield from self._stale(weights, microbatch, readings)
        yield from self._retired(weights)

    def _recomputed(self, readings: list[Reading]) -> Iterator[Fault]:
        first = next((r for r in readings if r.step.kind == "F"), None)
        for reading in readings:
            if first and reading.step.kind == "R" and _differs(first, reading):
                yield "PP802", reading.step.identity

    def _mixed(self, readings: list[Reading]) -> Iterator[Fault]:
        used = [reading for reading in readings if reading.step.kind != "R"]
        first = next((r for r in used if r.step.kind == "F"), used[0] if used else None)
        for reading in used:
            filled = reading.known or reading.step.get("w") != "cache"
            mixed = first is not None and _differs(first, reading)
            if not filled or (mixed and self.name != "latest"):
                yield "PP601", reading.step.identity

    def _not_as_asked(
        self, weights: StageWeights, microbatch: int, readings: list[Reading]
    ) -> Iterator[Fault]:
        for reading in readings:
            if reading.step.kind == "R":
                continue
            if not reading.known:
                yield "PP602", reading.step.identity
                continue
            for parameter, version in reading.versions:
                asked = self._asked(weights, microbatch, parameter)
                if asked is not None and version != asked:
                    yield "PP602", reading.step.identity

    def _asked(self, weights: StageWeights, microbatch: int, parameter: str) -> Version | None:
        """The version that the policy asks for; none where it asks for no certain one."""
        if self.name in ("stash", "latest"):
            return None
        if self.name == "vertical":
            return self._first_stage(microbatch, parameter)
        closer = self.closer(weights, microbatch, parameter)
        current = (weights.current if closer is None else closer[1])[parameter]
        if self.name == "2bw":
            chain = weights.chain[parameter]
            return chain[max(chain.index(current) - 1, 0)]
        return current

    def _first_stage(self, microbatch: int, parameter: str) -> Version | None:
        for reading in self.stages[0].readings:
            if reading.step.kind == "F" and reading.step.microbatch == microbatch:
                return next(iter(sorted(reading.of(parameter))), None)
        return None

    def closer(
        self, weights: StageWeights, microbatch: int, parameter: str
    ) -> tuple[str, dict[str, Version]] | None:
        """The STEP or SKIP that takes a contribution, with what is current when it starts."""
        closers = [
            (step.kind, position, current)
            for step, position, current in weights.closers
            if step.get("param") in ("", parameter)
        ]
        adding = [
            at
            for at, step in weights.program
            if step.kind in CONTRIBUTIONS and step.microbatch == microbatch
        ]
        if self.each:
            found = [mark for mark in closers if mark[1] > max(adding, default=mark[1])][:1]
        else:
            turn = microbatch // self.spec.microbatches
            first = min(at for at, step in weights.program if self._works_for(step, turn))
            found = closers[turn : turn + 1]
            if found and found[0][1] < first:  # it takes nothing of what comes after it
                found = [mark for mark in closers if mark[1] > first][:1]
        return (found[0][0], found[0][2]) if found else None

    def _works_for(self, step: Instruction, turn: int) -> bool:
        """Whether an operation is one of a step."""
        return step.kind in _WORK and step.microbatch // self.spec.microbatches == turn

    def _stale(
        self, weights: StageWeights, microbatch: int, readings: list[Reading]
    ) -> Iterator[Fault]:
        bound = self.spec.number("bounds.staleness")
        if bound is None:
            return
        read = [r for r in readings if r.step.kind != "R"]
        for parameter in weights.parameters:
            closer = self.closer(weights, microbatch, parameter)
            numbers = [version.number for reading in read for version in reading.of(parameter)]
            if closer is None or closer[0] != "STEP" or not numbers:
                continue
            if closer[1][parameter].number - min(numbers) > bound:
                for _, step in weights.program:
                    if step.kind in CONTRIBUTIONS and step.microbatch == microbatch:
                        yield "PP603", step.identity

    def _retired(self, weights: StageWeights) -> Iterator[Fault]:
        slots = self.spec.number("storage.weights.slots")
        if slots is None and self.name == "2bw":
            slots = 2
        if slots is None:
            return
        for fate in weights.fates:
            for parameter, made in fate.made.items():
                if any(
                    version.number == made.number - slots
                    for reading in weights.readings
                    if reading.position > fate.position
                    for version in reading.of(parameter)
                ):
                    yield "PP604", f"{fate.step.identity} {made.number}"


def _differs(first: Reading, other: Reading) -> bool:
    """Whether two operations use more than one version of a parameter between them."""
    shared = {name for name, _ in first.versions} & {name for name, _ in other.versions}
    return any(len(first.of(name) | other.of(name)) > 1 for name in shared)
