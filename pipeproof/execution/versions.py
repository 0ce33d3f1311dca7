"""Which versions of the weights a forward and its backward really read, by their contents.

Autograd keeps a counter beside each tensor and refuses a backward over one that was written in
place. It misses writes that go around the counter: through `.data`, through a view of another
library, and by fused optimizers. Here every weight that autograd saves is known by a digest of
its numbers, once when the forward saves it and once when the backward takes it. Hooks on saved
tensors switch autograd's own check off, so that everything is run once more without them.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

__all__ = ["Observed", "Read", "Reading", "digest", "observed"]


class Read(NamedTuple):
    """A weight that an operation read, and the version whose numbers stood there.

    `version` is None where they are those of no version.
    """

    operation: str
    weight: int
    version: int | None


class Observed(NamedTuple):
    """What a run showed: every read, those that are mixed, and what autograd said without hooks."""

    reads: tuple[Read, ...]
    mixed: tuple[Read, ...]
    refused: str | None


def digest(tensor: Tensor) -> str:
    """Return a digest of the numbers of a tensor."""
    numbers = tensor.detach().reshape(-1).contiguous().cpu()
    return hashlib.sha256(numbers.view(torch.uint8).numpy().tobytes()).hexdigest()


class _Saved(NamedTuple):
    weight: int
    version: int | None
    tensor: Tensor


class Reading:
    """Watches forwards and backwards over some weights that are written in place.

    Without `hooks` nothing is watched, and autograd's own check is live.
    """

    def __init__(self, weights: Sequence[Tensor], *, hooks: bool = True) -> None:
        self.weights, self.hooks = tuple(weights), hooks
        self.reads: list[Read] = []
        self.mixed: list[Read] = []
        self._now = ""
        self._known: list[dict[str, int]] = [{} for _ in weights]
        self._next = 0
        self.updated()

    def updated(self) -> None:
        """Note that the weights are now those of the next version."""
        for known, weight in zip(self._known, self.weights, strict=True):
            known.setdefault(digest(weight), self._next)
        self._next += 1

    @contextmanager
    def during(self, operation: str) -> Iterator[None]:
        """Note what is read as read by an operation."""
        self._now = operation
        if not self.hooks:
            yield
            return
        with saved_tensors_hooks(self._save, self._take):
            yield

    def _save(self, tensor: Tensor) -> _Saved | Tensor:
        k = self._weight(tensor)
        if k is None:
            return tensor
        version = self._known[k].get(digest(self.weights[k]))
        self.reads.append(Read(self._now, k, version))
        return _Saved(k, version, tensor)

    def _take(self, saved: _Saved | Tensor) -> Tensor:
        if isinstance(saved, Tensor):
            return saved
        version = self._known[saved.weight].get(digest(self._whole(saved)))
        read = Read(self._now, saved.weight, version)
        self.reads.append(read)
        if version != saved.version or version is None:
            self.mixed.append(read)
        return saved.tensor

    def _whole(self, saved: _Saved) -> Tensor:
        """Return the weight of which a tensor was saved, as its storage holds it now."""
        like = self.weights[saved.weight]
        return saved.tensor.detach().as_strided(like.size(), like.stride(), like.storage_offset())

    def _weight(self, tensor: Tensor) -> int | None:
        place = tensor.untyped_storage().data_ptr()
        places = [each.untyped_storage().data_ptr() for each in self.weights]
        return places.index(place) if place in places else None


def observed(run: Callable[[bool], Reading]) -> Observed:
    """Run something twice: watched, and once more with autograd's own check.

    Args:
        run: what makes weights, watches them if it is asked to, and returns what has watched.
    """
    watched = run(True)  # noqa: FBT003  with hooks
    refused = None
    try:
        run(False)  # noqa: FBT003  without
    except RuntimeError as error:
        refused = str(error)
    return Observed(tuple(watched.reads), tuple(watched.mixed), refused)
