"""Registers that a stage hands on from microbatch to microbatch: statistics, scaling history."""

from collections.abc import Iterator

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import same
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import WIDTH, Witness

__all__ = ["STATISTICS", "Registers"]

STATISTICS = ""
"""The register of what a stage of a witness has seen, where it keeps statistics."""


class Registers:
    """All registers, by stage and name, with the microbatches that each has seen, in order."""

    def __init__(self, asked: Asked, witness: Witness) -> None:
        self.asked, self.witness = asked, witness
        self._held: dict[tuple[int, str], Tensor] = {}
        self.seen: dict[tuple[int, str], list[int]] = {}
        self._inputs: dict[tuple[int, int], Tensor] = {}

    def forward(self, row: int, value: Tensor) -> Iterator[Illegal]:
        """Hand the registers of a forward on; yield what is wrong with their order."""
        ops = self.asked.ops
        stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
        self._inputs[stage, microbatch] = value
        if self.witness.statistics:
            self._pass(stage, STATISTICS, microbatch, value)
        name = self.asked.said(row).get("state")
        if name is None:
            return
        before = self.seen.get((stage, name), [])
        late = [m for m in before if m > microbatch]
        self._pass(stage, name, microbatch, value)
        if late:
            in_order = self._folded(stage, sorted((*before, microbatch)))
            visible = not same(self._held[stage, name], in_order)
            expected = (
                f"{name} as {stage}F{microbatch - 1} left it" if microbatch else "none before"
            )
            found = f"handed to {stage}F{late[-1]} before"
            yield Illegal(Fault.REGISTER, (Place(row, stage),), expected, found, visible)

    def again(self, row: int, value: Tensor) -> Iterator[Illegal]:
        """Update a register once more where a recomputation does."""
        ops, name = self.asked.ops, self.asked.said(row).get("state")
        if name is None:
            return
        stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
        before = self._held.get((stage, name), self._start())
        self._pass(stage, name, microbatch, value)
        visible = not same(self._held[stage, name], before)
        place = (Place(row, stage),)
        yield Illegal(Fault.REGISTER, place, f"{name} as it was", "updated again", visible)

    def _start(self) -> Tensor:
        return torch.ones(WIDTH, dtype=self.witness.dtype)

    def _pass(self, stage: int, name: str, microbatch: int, value: Tensor) -> None:
        held = self._held.get((stage, name), self._start())
        self._held[stage, name] = self._next(held, value)
        self.seen.setdefault((stage, name), []).append(microbatch)

    def _next(self, held: Tensor, value: Tensor) -> Tensor:
        if self.witness.exact:
            return torch.remainder(3 * held + value.sum(0) + 1, 97)
        return 0.9 * held + 0.1 * value.mean(0)

    def _folded(self, stage: int, microbatches: list[int]) -> Tensor:
        held = self._start()
        for microbatch in microbatches:
            held = self._next(held, self._inputs[stage, microbatch])
        return held

    def statistics(self, reference: Reference) -> Iterator[tuple[int, bool, bool]]:
        """Yield for each stage whether its statistics are right, and taken in the usual order.

        They are compared with those of the unsplit model in the order in which the stage ran.
        """
        for (stage, name), order in sorted(self.seen.items()):
            if name != STATISTICS:
                continue
            held = self._start()
            for microbatch in order:
                held = self._next(held, reference.passed(microbatch).inputs[stage])
            yield stage, same(held, self._held[stage, name]), order == sorted(order)
