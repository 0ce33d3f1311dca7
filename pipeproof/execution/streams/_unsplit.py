"""What the unsplit model says of every content, each computed once for all runs on its data."""

from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._graph import Graph
from pipeproof.execution._touches import what_of
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import EXACT, witness
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.storage import KEPT

__all__ = ["Unsplit"]


class Unsplit:
    """The unsplit model beside a schedule, on the data of a seed; all of it on the host."""

    def __init__(self, run: AsRun, seed: int) -> None:
        """Read what a schedule asks of its numbers.

        Raises:
            UnsupportedFeatureError: the witness cannot show what the schedule asks.
        """
        model = witness(EXACT, run.schedule.stages, run.schedule.microbatches, seed)
        self.asked = Asked(run, len(model.shapes))
        self.witness = model.like(self.asked.alike, self.asked.scale)
        self.reference = Reference(self.witness, self.asked)
        self.firsts = [self.witness.first(stage) for stage in range(run.schedule.stages)]
        self._kept: dict[int, Tensor] = {}
        self._sizes: dict[int, int] = {}

    def wanted(self, value: int) -> Tensor:
        """Return what a content is, in one row."""
        if what_of(value) != KEPT:
            return self.reference.value(value).reshape(-1)
        if value not in self._kept:
            weights, entered = self.entered((value >> 32) & 0xFFFFFF, value & 0xFFFFFFFF)
            self._kept[value] = Graph(self.witness.run, weights, entered).kept
        return self._kept[value]

    def entered(self, stage: int, microbatch: int) -> tuple[list[Tensor], Tensor]:
        """Return the weights and the input of a forward."""
        numbers = [self.asked.version(stage, k, microbatch) for k in self.asked.weights]
        weights = [self.reference.weight(stage, k, n) for k, n in enumerate(numbers)]
        return weights, self.reference.passed(microbatch).inputs[stage]

    def size(self, value: int) -> int:
        """Return how many numbers a content has."""
        microbatch = value & 0xFFFFFFFF
        plain = self.witness.given("X", microbatch)
        if what_of(value) > KEPT:
            return self.firsts[0][0].numel()
        if what_of(value) < KEPT:
            return plain.numel()
        if microbatch not in self._sizes:
            graph = Graph(self.witness.run, self.firsts[0], plain)
            self._sizes[microbatch] = graph.kept.numel()
        return self._sizes[microbatch]
