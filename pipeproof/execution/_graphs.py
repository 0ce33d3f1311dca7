"""The forwards that have run, each with its graph for autograd."""

from collections.abc import Mapping

import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._graph import Graph
from pipeproof.execution._weights import Held
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import Circumstances

__all__ = ["Graphs"]


class Graphs:
    """The last forward of each stage and microbatch."""

    def __init__(self, asked: Asked, reference: Reference) -> None:
        self.asked, self.reference, self.witness = asked, reference, reference.witness
        self._ran: dict[tuple[int, int], Graph] = {}
        self._with: dict[tuple[int, int], Circumstances] = {}

    def get(self, stage: int, microbatch: int) -> Graph | None:
        """Return a forward that has run."""
        return self._ran.get((stage, microbatch))

    def given(self, stage: int, microbatch: int) -> Graph:
        """Return the graph of a forward that stands in no file, as the unsplit model has it."""
        if (stage, microbatch) not in self._ran:
            way = self.reference.passed(microbatch)
            numbers = [self.asked.version(stage, k, microbatch) for k in self.asked.weights]
            weights = [self.reference.weight(stage, k, n) for k, n in enumerate(numbers)]
            value = self.reference.input_of(stage, microbatch, way.inputs[stage])
            at = self.reference.at(stage, microbatch)
            self.run((stage, microbatch), weights, value, at)
        return self._ran[stage, microbatch]

    def run(
        self, identity: tuple[int, int], weights: list[Tensor], value: Tensor, at: Circumstances
    ) -> Graph:
        """Run a forward."""
        self._ran[identity], self._with[identity] = self._made(weights, value, at), at
        return self._ran[identity]

    def _made(self, weights: list[Tensor], value: Tensor, at: Circumstances) -> Graph:
        return Graph(lambda own, entered: self.witness.run(own, entered, at), weights, value)

    def empty(self, stage: int, microbatch: int) -> Graph:
        """Return a graph of a forward that never ran: what it keeps was never written."""
        weights = list(self.witness.first(stage))
        shape = self.witness.given("X", microbatch).shape
        value = torch.full(shape, torch.nan, dtype=self.witness.dtype)
        return self._made(weights, value, self.reference.at(stage, microbatch))

    def weights(self, stage: int, microbatch: int, held: Mapping[int, Held]) -> list[Tensor]:
        """Return the weights that were read, in place of those that were not the forward's own."""
        graph = self.get(stage, microbatch)
        found = []
        for k, first in enumerate(self.witness.first(stage)):
            own = first if graph is None else graph.weights[k].detach()
            found.append(held[k].data if k in held else own)
        return found
