"""One forward under autograd, with what it saved taken out to live in the schedule's memory.

Weights that autograd saves are named, not kept: a backward brings those that it reads itself.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from pipeproof.execution._memory import flat

__all__ = ["Graph"]


class _Named(NamedTuple):
    """A saved tensor that is (a view of) weight `k`, or of the input for `k` of -1."""

    k: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class Graph:
    """A forward that has been run: its output, and a backward for any memory and weights."""

    def __init__(
        self,
        compute: Callable[[Sequence[Tensor], Tensor], Tensor],
        weights: Sequence[Tensor],
        value: Tensor,
    ) -> None:
        """Run a forward.

        Args:
            compute: what makes the output of weights and an input.
            weights: the weights that it reads.
            value: the input.
        """
        self.leaf = value.detach().clone().requires_grad_()
        self.weights = [each.detach().clone().requires_grad_() for each in weights]
        self._ours = {each.untyped_storage().data_ptr(): k for k, each in enumerate(self.weights)}
        self._ours[self.leaf.untyped_storage().data_ptr()] = -1
        self._saved: list[Tensor] = []
        self._current: list[Tensor] = list(self.weights)
        self._held = self.leaf.detach()
        with saved_tensors_hooks(self._pack, self._unpack):
            self._output = compute(self.weights, self.leaf)
        self.output = self._output.detach()
        self.kept = torch.cat([flat(each) for each in (self.leaf, *self._saved)])

    def _pack(self, tensor: Tensor) -> _Named | int:
        k = self._ours.get(tensor.untyped_storage().data_ptr())
        if k is not None:
            size, stride = tuple(tensor.size()), tuple(tensor.stride())
            return _Named(k, size, stride, int(tensor.storage_offset()))
        self._saved.append(tensor.detach().clone())
        return len(self._saved) - 1

    def _unpack(self, packed: _Named | int) -> Tensor:
        if isinstance(packed, int):
            return self._saved[packed]
        of = self._held if packed.k < 0 else self._current[packed.k]
        return of.detach().as_strided(packed.size, packed.stride, packed.offset)

    def backward(
        self, gradient: Tensor, kept: Tensor, weights: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the gradients of the input and of the weights.

        Args:
            gradient: that of the output.
            kept: what memory holds of what the forward kept, as `kept` lays it out.
            weights: the weights that the backward reads.
        """
        self._current = [each.detach().contiguous() for each in weights]
        parts = self._split(kept)
        self._held = parts[0].reshape(self.leaf.shape).to(self.leaf.dtype)
        for place, part in enumerate(parts[1:]):
            self._saved[place] = part.reshape(self._saved[place].shape)
        found = torch.autograd.grad(
            self._output,
            [self.leaf, *self.weights],
            gradient.reshape(self.output.shape),
            retain_graph=True,
            materialize_grads=True,
        )
        return found[0].detach(), tuple(each.detach() for each in found[1:])

    def _split(self, kept: Tensor) -> list[Tensor]:
        sizes = [self.leaf.numel(), *(each.numel() for each in self._saved)]
        return list(torch.split(kept, sizes))
