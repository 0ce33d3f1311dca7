"""Segments of a microbatch: what a stage hands on from one to the next, and back."""

from collections.abc import Iterator

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution.witness import WIDTH, Witness

__all__ = ["Carry"]


class Carry:
    """What all segments before one were, summed up, and the gradient of that.

    A stage works on the input of a segment and on the sum of those before it.
    """

    def __init__(self, asked: Asked, witness: Witness) -> None:
        self.asked, self.ops = asked, asked.ops
        self._nothing = torch.zeros(WIDTH, dtype=witness.dtype)
        self._forth: dict[tuple[int, int], Tensor] = {}
        self._back: dict[tuple[int, int], Tensor] = {}

    def _identity(self, row: int) -> tuple[int, int]:
        return int(self.ops.stage[row]), int(self.ops.microbatch[row])

    def before(self, row: int) -> Tensor:
        """Return what the segments before one were; NaN where that is not there."""
        stage, segment = self._identity(row)
        if segment == self.asked.begins(segment):
            return self._nothing
        return self._forth.get((stage, segment - 1), torch.full_like(self._nothing, torch.nan))

    def forward(self, row: int, value: Tensor) -> Iterator[Illegal]:
        """Hand on what a forward enters with; yield what is wrong with what it was handed."""
        if self.asked.segments == 1:
            return
        stage, segment = self._identity(row)
        before = self.before(row)
        self._forth[stage, segment] = before + value.sum(0)
        if bool(before.isnan().any()):
            expected = f"what {stage}F{segment - 1} left"
            yield Illegal(Fault.ABSENT, (Place(row, stage),), expected, "nothing")

    def behind(self, row: int) -> Tensor:
        """Return the gradient that comes from the segments after one."""
        stage, segment = self._identity(row)
        if (segment + 1) % self.asked.segments == 0:
            return self._nothing
        return self._back.get((stage, segment), torch.full_like(self._nothing, torch.nan))

    def backward(self, row: int, gradient: Tensor) -> Iterator[Illegal]:
        """Hand back what a backward found of its whole input; yield what is wrong."""
        if self.asked.segments == 1:
            return
        stage, segment = self._identity(row)
        behind, place = self.behind(row), (Place(row, stage),)
        self._back[stage, segment - 1] = gradient.sum(0) + behind
        begins = self.asked.begins(segment)
        for each in range(begins, begins + self.asked.segments):
            if (stage, each) not in self._forth:
                yield Illegal(Fault.NO_FORWARD, place, f"what {stage}F{each} kept", "nothing")
                break
        if bool(behind.isnan().any()):
            expected = f"what {stage}B{segment + 1} left"
            yield Illegal(Fault.ABSENT, place, expected, "nothing")
