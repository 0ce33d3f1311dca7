"""The models that a schedule is run on: small, and such that a fault shows in their numbers.

A witness has at least two layers and a nonlinearity a stage, an input of its own for each
microbatch, and weights of its own for each stage. `linear` is exact: small whole numbers in
float64, whose sums are equal in any order as long as no magnitude reaches 2^53, which is
asserted. The others are ordinary floating point.
"""

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["EXACT", "WITNESSES", "Circumstances", "InexactError", "Witness", "witness"]

WIDTH = 4
EXACT = "linear"
_LIMIT = 2.0**53
_MORE = 60  # weights that a stage may have beside its own
_MODULUS = 5  # weights of the exact witness stay within -2 and 2


class InexactError(Exception):
    """A number of the exact witness is no whole number below 2^53."""


class Circumstances(NamedTuple):
    """What a forward depends on beside its input and weights: random state and context."""

    rng: str | None = None
    context: str | None = None


_Apply = Callable[[Sequence[Tensor], Tensor, Circumstances], Tensor]
_NONE = Circumstances()


@dataclass(frozen=True, slots=True)
class Witness:
    """A model of as many stages as asked for, with its data.

    `alike` names for a stage another one whose first weights it has; `scale` multiplies the loss,
    so that shares of a gradient are whole numbers. `tall` and `short` are the rows of a microbatch
    and of the last one. Weight `k` of a stage has the shape `shapes[k]`; `more` of them are added
    to its input, each with a factor of its own.
    """

    name: str
    stages: int
    microbatches: int
    seed: int = 0
    scale: int = 1
    alike: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    tall: int = 3
    short: int = 2
    more: int = 0

    @property
    def exact(self) -> bool:
        """Whether numbers are whole and sums equal in any order."""
        return self.name == EXACT

    @property
    def dtype(self) -> torch.dtype:
        """The type of every number."""
        return torch.float64 if self.exact else torch.float32

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the weights of a stage."""
        return WITNESSES[self.name].shapes + (_LINE,) * self.more

    @property
    def random(self) -> bool:
        """Whether forwards draw random numbers."""
        return WITNESSES[self.name].random

    @property
    def statistics(self) -> bool:
        """Whether stages keep statistics of what they have seen."""
        return WITNESSES[self.name].statistics

    def wide(self, weights: int) -> "Witness":
        """Return the witness with at least so many weights a stage, up to a limit."""
        own = len(WITNESSES[self.name].shapes)
        return replace(self, more=min(max(weights - own, 0), _MORE))

    def like(self, alike: Mapping[int, int], scale: int) -> "Witness":
        """Return the witness with stages that start alike, and with another scale of its loss."""
        return replace(self, alike=alike, scale=scale if self.exact else 1)

    def rows(self, microbatch: int) -> int:
        """Return how many samples a microbatch has; the last one of a step has fewer."""
        last = (microbatch + 1) % self.microbatches == 0 and self.microbatches > 1
        return self.short if last else self.tall

    def given(self, what: str, microbatch: int) -> Tensor:
        """Return an input, label or other value that is there from the start."""
        shape = (self.rows(microbatch), WIDTH)
        return self.numbers(f"{what}.{microbatch}", shape, 3)

    def first(self, stage: int) -> tuple[Tensor, ...]:
        """Return the weights that a stage starts with."""
        of = self.alike.get(stage, stage)
        most = 1 if self.exact else 2
        return tuple(
            self._weight(f"weight {of} {k}", shape, most) for k, shape in enumerate(self.shapes)
        )

    def _weight(self, text: str, shape: tuple[int, ...], most: int) -> Tensor:
        if not self.exact:
            return self.numbers(text, shape, most) * (0.5 / math.sqrt(WIDTH))
        if len(shape) == 1:
            return self.numbers(text, shape, 2)
        whole = self.numbers(text, shape, most)
        return whole * (self.numbers(text + " there", shape, 3).abs() > 1) + torch.eye(*shape).to(
            self.dtype
        )

    def numbers(self, text: str, shape: tuple[int, ...], most: int) -> Tensor:
        """Return numbers that depend on a text and the seed: whole ones up to `most` if exact."""
        return _numbers(f"{text} {self.seed}", shape, most, self.dtype)

    def run(self, weights: Sequence[Tensor], value: Tensor, at: Circumstances = _NONE) -> Tensor:
        """Return what a stage makes of an input."""
        own = len(WITNESSES[self.name].shapes)
        for factor, shift in enumerate(weights[own:], 2):
            value = value + factor * shift
        made = WITNESSES[self.name].apply(weights[:own], value, at)
        if at.context is not None:
            made = made + self._context(at.context, made)
        return made

    def _context(self, context: str, like: Tensor) -> Tensor:
        """Return how much a context changes a result: rounding stands for precision."""
        shift = self.numbers(f"context {context}", (WIDTH,), 5).expand_as(like)
        return shift if self.exact else shift * torch.finfo(self.dtype).eps * like.detach().abs()

    def loss(self, made: Tensor, label: Tensor) -> Tensor:
        """Return the loss of one microbatch: a sum over its samples."""
        return ((made - label) ** 2).sum() * self.scale

    def updated(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Return a weight after one step of gradient descent.

        The exact witness takes a step of 1 and wraps around, so that weights stay small however
        many updates there are; the others take 1/100.
        """
        if not self.exact:
            return weight - gradient / 100
        half = _MODULUS // 2
        return torch.remainder(weight - gradient + half, _MODULUS) - half

    def assert_exact(self, *numbers: Tensor) -> None:
        """Check that numbers are whole and below 2^53; what is not a number passes.

        Raises:
            InexactError: one is not.
        """
        if not self.exact:
            return
        for each in numbers:
            some = each.detach()
            whole = (some == some.round()) & (some.abs() < _LIMIT)
            if not bool((whole | some.isnan()).all()):
                message = "a number of the exact witness is no whole number below 2^53"
                raise InexactError(message)


@lru_cache(maxsize=4096)
def _numbers(text: str, shape: tuple[int, ...], most: int, dtype: torch.dtype) -> Tensor:
    maker = torch.Generator().manual_seed(zlib.crc32(text.encode()))
    if dtype == torch.float64:
        return torch.randint(-most, most + 1, shape, generator=maker).to(dtype)
    return torch.randn(shape, generator=maker, dtype=dtype)


def witness(name: str, stages: int, microbatches: int, seed: int = 0) -> Witness:
    """Return a witness by name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in WITNESSES:
        message = f"there is no witness {name!r}; write one of {', '.join(WITNESSES)}"
        raise ValueError(message)
    return Witness(name, stages, microbatches, seed)


def _drawn(at: Circumstances, like: Tensor) -> Tensor:
    """Return which numbers a dropout keeps: half of them, by the random state."""
    maker = torch.Generator().manual_seed(zlib.crc32(f"dropout {at.rng}".encode()))
    return torch.rand(like.shape, generator=maker).to(like.dtype) < 0.5  # noqa: PLR2004  half


def _linear(weights: Sequence[Tensor], value: Tensor, at: Circumstances) -> Tensor:
    first, bias, second, shift = weights
    hidden = functional.relu(functional.linear(value, first, bias))
    if at.rng is not None:
        hidden = hidden * _drawn(at, hidden)
    return functional.linear(hidden, second, shift)


def _dropout(weights: Sequence[Tensor], value: Tensor, at: Circumstances) -> Tensor:
    first, bias, second, shift = weights
    hidden = functional.relu(functional.linear(value, first, bias))
    return functional.linear(hidden * _drawn(at, hidden) * 2, second, shift)


def _batchnorm(weights: Sequence[Tensor], value: Tensor, at: Circumstances) -> Tensor:
    first, gain, second, shift = weights
    hidden = functional.linear(value, first)
    normal = functional.batch_norm(hidden, None, None, gain, None, training=True)
    return functional.linear(functional.relu(normal), second, shift) + value


def _transformer(weights: Sequence[Tensor], value: Tensor, at: Circumstances) -> Tensor:
    into, out, first, second = weights
    query, key, content = functional.linear(functional.layer_norm(value, (WIDTH,)), into).chunk(
        3, dim=-1
    )
    mixed = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(WIDTH), -1) @ content
    value = value + functional.linear(mixed, out)
    hidden = functional.gelu(functional.linear(functional.layer_norm(value, (WIDTH,)), first))
    return value + functional.linear(hidden, second)


class _Kind(NamedTuple):
    """A kind of stage."""

    shapes: tuple[tuple[int, ...], ...]
    apply: _Apply
    random: bool = False
    statistics: bool = False


_SQUARE, _LINE = (WIDTH, WIDTH), (WIDTH,)
WITNESSES: Mapping[str, _Kind] = MappingProxyType(
    {
        EXACT: _Kind((_SQUARE, _LINE, _SQUARE, _LINE), _linear),
        "transformer": _Kind(
            ((3 * WIDTH, WIDTH), _SQUARE, (2 * WIDTH, WIDTH), (WIDTH, 2 * WIDTH)), _transformer
        ),
        "batchnorm": _Kind((_SQUARE, _LINE, _SQUARE, _LINE), _batchnorm, statistics=True),
        "dropout": _Kind((_SQUARE, _LINE, _SQUARE, _LINE), _dropout, random=True),
    }
)
"""Every kind of stage by name."""
