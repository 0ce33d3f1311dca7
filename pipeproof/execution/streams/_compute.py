"""What rows compute on a device: real autograd on what memory holds when the stream comes to it.

Nothing here looks at a number: a device that has not come so far would be waited for.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from pipeproof.execution._graph import Graph
from pipeproof.execution._memory import flat
from pipeproof.execution._touches import Touches, what_of
from pipeproof.execution.streams._reads import Rows, Slot
from pipeproof.execution.streams._state import Seen, State
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.ir.actions import Kind
from pipeproof.ir.storage import KEPT, WEIGHT_GRADIENT
from pipeproof.ir.values import ValueKind

__all__ = ["Compute"]

_Read = Mapping[int, Tensor]


class Compute:
    """Runs the computations of a schedule; `seen` holds what they read."""

    def __init__(
        self, touches: Touches, unsplit: Unsplit, rows: Rows, state: State, seen: list[Seen]
    ) -> None:
        self.touches, self.unsplit, self.rows, self.state = touches, unsplit, rows, state
        self.asked, self.witness = unsplit.asked, unsplit.witness
        self.ops, self.seen = unsplit.asked.ops, seen
        microbatches = range(unsplit.asked.run.microbatches)
        self._labels = {m: state.place(self.witness.given("Y", m)) for m in microbatches}
        self._first = [[state.place(each) for each in first] for first in unsplit.firsts]

    def identity(self, row: int) -> tuple[int, int]:
        """Return the stage and the microbatch of a row."""
        return int(self.ops.stage[row]), int(self.ops.microbatch[row])

    def shape(self, microbatch: int) -> torch.Size:
        """Return the shape of every activation and gradient of a microbatch."""
        return self.witness.given("X", microbatch).shape

    def graph(self, weights: tuple[Tensor, ...] | list[Tensor], value: Tensor) -> Graph:
        """Run a forward."""
        return Graph(self.witness.run, weights, value)

    # reading

    def read(self, event: int, row: int) -> dict[int, Tensor]:
        """Return what stands in the memories that a row reads, and note it."""
        found = {}
        for each in self.touches.reads[row]:
            if what_of(each.value) == WEIGHT_GRADIENT:
                continue
            data = self.state.take(each.key, self.unsplit.size(each.value))
            self.seen.append(Seen(event, row, each.key, each.value, data))
            found[each.value] = data
        return found

    def _own(self, event: int, row: int) -> dict[int, Tensor]:
        """Return what a computation reads of its own microbatch.

        What a forward keeps in the storage of its input can be a content of another one.
        """
        microbatch = int(self.ops.microbatch[row])
        found = self.read(event, row)
        return {value: data for value, data in found.items() if value & 0xFFFFFFFF == microbatch}

    def _tensors(self, row: int, held: Mapping[int, Slot | None]) -> list[Tensor]:
        """Return the weights that were read, in place of those that were not the forward's own."""
        stage, microbatch = self.identity(row)
        graph = self.state.graphs.get((stage, microbatch))
        found = []
        for k, first in enumerate(self._first[stage]):
            own = first if graph is None else graph.weights[k].detach()
            slot = held.get(k)
            if slot is not None:
                own = self.state.numbers["weight", *slot].clone()
            elif k in held:
                own = torch.full_like(first, torch.nan)
            found.append(own)
        return found

    # computing

    def start(self, event: int, row: int) -> tuple[Tensor, ...]:
        """Run a computation on what is there now, for `put` to write; return what it adds."""
        read, held = self._own(event, row), self.rows.held[row]
        adds: tuple[Tensor, ...] = ()
        match Kind(int(self.ops.kind[row])):
            case Kind.F:
                made = self._forward(row, read, held)
            case Kind.L:
                made = self._loss(row, read)
            case Kind.R:
                made = self._again(row, read, held)
            case _:
                made, adds = self._backward(row, read, held)
        for each in self.touches.writes[row]:
            if what_of(each.value) in made:
                self.state.made[row, each.value] = flat(made[what_of(each.value)])
        for k, found in enumerate(adds):
            self.state.made[row, -1 - k] = found.detach()
        return adds

    def is_early_part(self, row: int) -> bool:
        """Whether a row is a part of a forward whose last part computes."""
        puts = {what_of(each.value) for each in self.touches.writes[row]}
        return int(self.ops.kind[row]) == Kind.F and ValueKind.F not in puts

    def _forward(self, row: int, read: _Read, held: Mapping[int, Slot | None]) -> dict[int, Tensor]:
        stage, microbatch = self.identity(row)
        value = _alias(read, stage)
        if value is None:
            value = torch.full_like(self._labels[microbatch], torch.nan)
        self.state.graphs.pop((stage, microbatch), None)
        tensors = self._tensors(row, held)
        graph = self.graph(tensors, value.reshape(self.shape(microbatch)))
        self.state.graphs[stage, microbatch] = graph
        lost = graph.output - self._label(read, microbatch)
        return {ValueKind.F: graph.output, KEPT: graph.kept, ValueKind.L: lost}

    def _label(self, read: _Read, microbatch: int) -> Tensor:
        label = read.get((int(ValueKind.Y) << 56) | microbatch)
        return self._labels[microbatch] if label is None else label.reshape(self.shape(microbatch))

    def _loss(self, row: int, read: _Read) -> dict[int, Tensor]:
        _, microbatch = self.identity(row)
        nothing = torch.full_like(self._labels[microbatch], torch.nan)
        made = next((d for v, d in read.items() if what_of(v) == ValueKind.F), nothing)
        label = self._label(read, microbatch)
        return {ValueKind.L: made.reshape(label.shape) - label}

    def _again(self, row: int, read: _Read, held: Mapping[int, Slot | None]) -> dict[int, Tensor]:
        stage, microbatch = self.identity(row)
        shape = self.shape(microbatch)
        value = self._kept(row, read)[: shape.numel()].reshape(shape)
        graph = self.graph(self._tensors(row, held), value)
        self.state.graphs[stage, microbatch] = graph
        code = next(v for v in read if what_of(v) == KEPT)
        self.state.made[row, code] = graph.kept
        return {}

    def _backward(
        self, row: int, read: _Read, held: Mapping[int, Slot | None]
    ) -> tuple[dict[int, Tensor], tuple[Tensor, ...]]:
        identity = self.identity(row)
        graph = self.state.graphs.get(identity)
        if graph is None:
            nothing = torch.full_like(self._labels[identity[1]], torch.nan)
            graph = self.graph(self._first[identity[0]], nothing)
            self.state.graphs[identity] = graph
        kept, gradient = self._kept(row, read), self._gradient(row, read)
        found = graph.backward(gradient, kept, self._tensors(row, held))
        made = {int(ValueKind.B): found[0], WEIGHT_GRADIENT: found[1][0]}
        if int(self.ops.kind[row]) == Kind.I:
            self.state.left[identity] = gradient.detach().clone()
            return made, ()
        return made, found[1]

    def _kept(self, row: int, read: _Read) -> Tensor:
        """Return what memory holds of what a forward kept, also where that is in its input."""
        stage, microbatch = self.identity(row)
        kept = next(d for v, d in read.items() if what_of(v) == KEPT).clone()
        alias = _alias(read, stage)
        if alias is not None:
            kept[: alias.numel()] = alias
        own = read.get((int(ValueKind.F) << 56) | (stage << 32) | microbatch)
        graph = self.state.graphs.get((stage, microbatch))
        if own is not None and graph is not None and not _is_loss(read):
            kept[: own.numel()] += own - graph.output.reshape(-1)
        return kept

    def _gradient(self, row: int, read: _Read) -> Tensor:
        """Return the gradient of a stage's output."""
        stage, microbatch = self.identity(row)
        own = None
        for value, data in read.items():
            match what_of(value):
                case ValueKind.B:
                    return data.reshape(self.shape(microbatch))
                case ValueKind.L:
                    return self._of_loss(data).reshape(self.shape(microbatch))
                case ValueKind.F if (value >> 32) & 0xFFFFFF == stage:
                    own = data
        if int(self.ops.kind[row]) != Kind.W and own is not None:
            return self._of_loss(own - self._labels[microbatch].reshape(-1)).reshape(
                self.shape(microbatch)
            )
        nothing = torch.full_like(self._labels[microbatch], torch.nan)
        return self.state.left.get((stage, microbatch), nothing)

    def _of_loss(self, off: Tensor) -> Tensor:
        """Run the loss backwards, on what memory holds of how far an output is off."""
        leaf = off.detach().clone().requires_grad_()
        lost = self.witness.loss(leaf, torch.zeros_like(leaf))
        return torch.autograd.grad(lost, [leaf])[0].detach()


def _alias(read: _Read, stage: int) -> Tensor | None:
    """Return the input of a stage among what is read, None where it is not."""
    for value, data in read.items():
        own = (value >> 32) & 0xFFFFFF == stage
        if what_of(value) == ValueKind.X or (what_of(value) == ValueKind.F and not own):
            return data
    return None


def _is_loss(read: _Read) -> bool:
    """Whether nothing but an output says what the loss is."""
    return all(what_of(each) not in (ValueKind.B, ValueKind.L) for each in read)
