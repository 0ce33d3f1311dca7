"""Weights while a schedule runs: versions kept, stashed, gathered or overwritten."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import same
from pipeproof.execution._numbers import ABSENT, is_withdrawn
from pipeproof.execution.reference import Reference
from pipeproof.ir.actions import Kind

__all__ = ["Held", "Weights"]


class Held(NamedTuple):
    """A weight as an operation reads it: the number asked of memory, and what stood there.

    `stood` is the number of the version in its place, None where there is none; `by` the row of
    the STEP that made it.
    """

    number: int
    stood: int | None
    data: Tensor
    by: int


class _Version(NamedTuple):
    number: int
    data: Tensor
    by: int


class Weights:
    """The weights of all stages. With `slots` a version takes the place of an older one."""

    def __init__(self, asked: Asked, reference: Reference) -> None:
        self.asked, self.reference = asked, reference
        self.numbers = {stage: asked.numbers(stage) for stage in asked.home}
        self.slots = asked.slots
        self._sharded = {
            int(asked.ops.stage[row])
            for row in asked.ops.is_kind(Kind.UNSHARD, Kind.RESHARD).nonzero()[0].tolist()
        }
        self._versions: dict[tuple[int, int, int], _Version] = {}
        for stage in asked.home:
            for k, first in enumerate(reference.witness.first(stage)):
                self._versions[stage, k, 0] = _Version(0, first, -1)

    def _slot(self, number: int) -> int:
        free = self.slots is None or is_withdrawn(number)
        return number if free or self.slots is None else number % self.slots

    def shard(self, row: int) -> None:
        """Gather a stage's weights, or leave its own part of them."""
        ops = self.asked.ops
        stage = int(ops.stage[row])
        if int(ops.kind[row]) == Kind.RESHARD:
            self._sharded.add(stage)
        else:
            self._sharded.discard(stage)

    def is_sharded(self, row: int) -> bool:
        """Whether a row works with weights of which only a part is there."""
        of = int(self.asked.ops.stage[row])
        return of in self._sharded and self.asked.said(row).get("w") != "none"

    def read(self, row: int) -> dict[int, Held]:
        """Return what a row reads of its stage's weights, and note it."""
        stage = int(self.asked.ops.stage[row])
        found = {}
        for k, number in self.asked.advance(self.numbers[stage], row).items():
            found[k] = self._look(stage, k, number)
            if self.is_sharded(row):
                found[k] = found[k]._replace(data=torch.full_like(found[k].data, torch.nan))
        return found

    def _look(self, stage: int, k: int, number: int) -> Held:
        exists = 0 <= number <= self.numbers[stage].last[k] or is_withdrawn(number)
        there = self._versions.get((stage, k, self._slot(number))) if exists else None
        if there is None:
            nothing = torch.full_like(self.reference.witness.first(stage)[k], torch.nan)
            return Held(number, None, nothing, -1)
        return Held(number, there.number, there.data, there.by)

    def current(self, stage: int, k: int) -> Tensor:
        """Return the version of a weight that is current."""
        return self._look(stage, k, self.numbers[stage].current[k]).data

    def step(self, row: int, made: Mapping[int, Tensor], rounded: Collection[int] = ()) -> None:
        """Make the next version of the weights that a STEP is about.

        The unsplit model goes on from those that are `rounded`: whose gradients were summed in
        another order than its own.
        """
        stage = int(self.asked.ops.stage[row])
        for k, number in self.asked.advance(self.numbers[stage], row).items():
            self._versions[stage, k, self._slot(number)] = _Version(number, made[k], row)
            if k in rounded and not is_withdrawn(number):
                self.reference.adopt(stage, k, number, made[k])

    def differ(self, row: int) -> bool:
        """Whether a version that a STEP has just made is not that of the unsplit model."""
        stage = int(self.asked.ops.stage[row])
        for k in self.asked.names[stage].of_parameter(self.asked.said(row)):
            number = self.numbers[stage].current[k]
            own = self.reference.weight(stage, k, number) if not is_withdrawn(number) else None
            if own is not None and not same(self._look(stage, k, number).data, own):
                return True
        return False

    def settle(self, row: int) -> None:
        """Make the versions before those that a ROLLBACK withdraws current again."""
        self.asked.advance(self.numbers[int(self.asked.ops.stage[row])], row)

    def uncommitted(self, row: int, held: Mapping[int, Held]) -> dict[int, Held]:
        """Return what is committed in place of versions that a row may not read.

        Forwards and recomputations may read what is settled later, under `speculative`; what has
        been withdrawn nobody may read.
        """
        stage, found = int(self.asked.ops.stage[row]), {}
        speculation = self.asked.speculation[stage]
        may = self.asked.policy == "speculative"
        may = may and int(self.asked.ops.kind[row]) in (Kind.F, Kind.R)
        for k, each in held.items():
            part = each.by, k
            open_ = speculation.open_at(part, row) and not may
            if open_ or speculation.gone_at(part, row):
                found[k] = self._committed(stage, k, row)
        return found

    def unsettled(
        self, row: int, held: Mapping[int, Held], committed: Mapping[int, Held], *, alike: bool
    ) -> Illegal:
        """Return what is wrong with reading versions that may be withdrawn, or are.

        Args:
            row: what reads them.
            held: what it reads.
            committed: what is committed in their place.
            alike: whether the numbers are the same with that.
        """
        stage = int(self.asked.ops.stage[row])
        places = (Place(row, stage), *(Place(held[k].by, stage) for k in committed))
        expected = f"version {min(each.number for each in committed.values())} of stage {stage}"
        found = "one that may be withdrawn"
        return Illegal(Fault.UNCOMMITTED, places, expected, found, not alike)

    def _committed(self, stage: int, k: int, row: int) -> Held:
        numbers, speculation = self.numbers[stage], self.asked.speculation[stage]
        stack = (*reversed([*numbers.below[k], numbers.current[k]]), *range(numbers.last[k], 0, -1))
        for number in stack:
            held = self._look(stage, k, number)
            part = held.by, k
            if not speculation.open_at(part, row) and not speculation.gone_at(part, row):
                return held
        return self._look(stage, k, 0)

    def faults(self, row: int, held: Mapping[int, Held], *, visible: bool) -> Iterator[Illegal]:
        """Yield what is wrong with the versions that a row has read, one for each fault."""
        told: set[Fault] = set()
        if self.is_sharded(row):
            yield Illegal(Fault.SHARDED, (Place(row),), "whole weights", "a part of them", visible)
        for k, each in held.items():
            if is_withdrawn(each.number):
                continue
            for found in self._wrong(row, k, each, visible=visible):
                if found.fault not in told:
                    told.add(found.fault)
                    yield found

    def _wrong(self, row: int, k: int, held: Held, *, visible: bool) -> Iterator[Illegal]:
        ops = self.asked.ops
        stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
        said = f"version {held.number} of stage {stage}"
        if held.stood is not None and held.stood != held.number:
            places = (Place(held.by, stage), Place(row, stage))
            yield Illegal(Fault.RETIRED, places, said, f"version {held.stood}", visible)
        first = self.numbers[stage].first.get(self.asked.begins(microbatch), {})
        began = first.get(k, next(iter(first.values()), held.number))
        is_again = int(ops.kind[row]) == Kind.R
        if held.number in (ABSENT, began) and held.number != ABSENT:
            asked = self.asked.version(stage, k, microbatch)
            if (held.number != asked or held.stood is None) and not is_again:
                own = (Place(row, stage),)
                yield Illegal(Fault.POLICY, own, f"version {asked}", said, visible)
            return
        fault = Fault.RECOMPUTED if is_again else Fault.MIXED
        found = "no version" if held.number == ABSENT else said
        yield Illegal(fault, (Place(row, stage),), f"version {began}", found, visible)
