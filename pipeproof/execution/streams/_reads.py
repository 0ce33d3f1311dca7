"""Which versions of the weights each row reads or makes, in the order of its rank's program."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._asked import Asked
from pipeproof.execution._weights import Weights
from pipeproof.execution.reference import Reference
from pipeproof.ir.accesses import early_parts
from pipeproof.ir.actions import COMPUTE, Kind

__all__ = ["Rows", "refused"]

_NOT_RUN = {
    Kind.NORM: "norms",
    Kind.TIE: "tied parameters",
    Kind.ROLLBACK: "withdrawn updates",
}
_SAID = {
    "aux": "extra inputs",
    "rng": "random state",
    "ctx": "contexts",
    "state": "registers",
    "shard": "reductions to a shard",
}


def refused(asked: Asked) -> Iterator[str]:
    """Yield what of a schedule streams do not show."""
    ops = asked.ops
    for kind, what in _NOT_RUN.items():
        if bool(ops.is_kind(kind).any()):
            yield what
    said = {key for each in ops.attributes.values() for key in each}
    yield from (what for key, what in _SAID.items() if key in said)
    if asked.schedule.segments > 1:
        yield "segments"
    if asked.copies:
        yield "tied parameters"
    if asked.normed:
        yield "norms"
    for row in ops.is_kind(*COMPUTE).nonzero()[0].tolist():
        stage = int(ops.stage[row])
        if row not in asked.home.get(stage, ()):
            yield "a stage away from its rank"
            return


class Slot(NamedTuple):
    """Where a version of a weight stands: the stage, the weight and the slot."""

    stage: int
    k: int
    number: int


class Rows:
    """What each row reads and makes: `held`, by weight, None where no version is.

    `made` are the slots that a STEP fills, `ends` counts the STEP and SKIP of a weight before it.
    """

    def __init__(self, asked: Asked, reference: Reference) -> None:
        """Go through the programs.

        Raises:
            UnsupportedFeatureError: something in them is not run on streams.
        """
        for what in refused(asked):
            message = f"streams do not show {what}"
            raise UnsupportedFeatureError(message)
        self.asked = asked
        self._weights = Weights(asked, reference)
        self.held: dict[int, dict[int, Slot | None]] = {}
        self.made: dict[int, dict[int, Slot]] = {}
        self.current: dict[int, dict[int, Slot]] = {}
        self.ends: dict[tuple[int, int], int] = {}
        self._counts: dict[tuple[int, int], int] = {}
        self._early = frozenset(early_parts(asked.run).tolist())
        self._parts: dict[tuple[int, int], dict[int, Slot | None]] = {}
        for row in range(len(asked.ops)):
            self._walk(row)

    def _walk(self, row: int) -> None:
        ops, asked = self.asked.ops, self.asked
        kind, stage = Kind(int(ops.kind[row])), int(ops.stage[row])
        if kind in (Kind.UNSHARD, Kind.RESHARD):
            self._weights.shard(row)
        elif kind in (*COMPUTE, Kind.GATHER) and stage in asked.home:
            held = asked.advance(self._weights.numbers[stage], row)
            self.held[row] = {k: self._slot(row, stage, k, n) for k, n in held.items()}
            if kind is Kind.F:
                self._join(row, stage)
        elif kind in (Kind.STEP, Kind.SKIP):
            self._ends(row, stage, kind)

    def _join(self, row: int, stage: int) -> None:
        """Let the last part of a forward have what the parts before it read."""
        identity = stage, int(self.asked.ops.microbatch[row])
        parts = self._parts.setdefault(identity, {})
        parts.update(self.held[row])
        if row not in self._early:
            self.held[row] = self._parts.pop(identity)

    def _slot(self, row: int, stage: int, k: int, number: int) -> Slot | None:
        exists = 0 <= number <= self._weights.numbers[stage].current[k]
        if not exists or self._weights.is_sharded(row):
            return None
        return self._place(stage, k, number)

    def _place(self, stage: int, k: int, number: int) -> Slot:
        slots = self._weights.slots
        return Slot(stage, k, number if slots is None else number % slots)

    def _ends(self, row: int, stage: int, kind: Kind) -> None:
        numbers = self._weights.numbers[stage]
        about = self.asked.names[stage].of_parameter(self.asked.said(row))
        self.current[row] = {k: self._place(stage, k, numbers.current[k]) for k in about}
        for k in about:
            self.ends[row, k] = self._counts.get((stage, k), 0)
            self._counts[stage, k] = self.ends[row, k] + 1
        if kind is Kind.STEP:
            made = self.asked.advance(numbers, row)
            self.made[row] = {k: self._place(stage, k, n) for k, n in made.items()}

    @property
    def slots(self) -> Mapping[int, tuple[Slot, ...]]:
        """Every slot of a weight that stands anywhere, by stage."""
        found: dict[int, set[Slot]] = {
            stage: {Slot(stage, k, 0) for k in self.asked.weights} for stage in self.asked.home
        }
        for each in self.made.values():
            for slot in each.values():
                found[slot.stage].add(slot)
        return {stage: tuple(sorted(slots)) for stage, slots in found.items()}
