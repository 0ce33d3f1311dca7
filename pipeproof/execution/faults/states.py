"""What an operation depends on, as copies that can be handed to another rank and run there."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Operation", "Run", "State", "carried_out", "digest", "owned"]


class Operation(NamedTuple):
    """Which operation, of which rank; `direction` is forward, backward or step."""

    rank: int
    stage: int
    microbatch: int
    direction: str

    def __str__(self) -> str:
        """Return the place in words."""
        of = f"microbatch {self.microbatch}, " if self.microbatch >= 0 else ""
        return f"rank {self.rank}, stage {self.stage}, {of}{self.direction}"


def owned(values: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return contiguous copies that share no storage with anything."""
    return tuple(each.detach().clone(memory_format=torch.contiguous_format) for each in values)


def digest(values: Iterable[Tensor]) -> str:
    """Return a digest of the bits of some tensors, their types and shapes; NaN equals itself."""
    found = hashlib.sha256()
    for each in values:
        found.update(f"{each.dtype} {tuple(each.shape)};".encode())
        bits = each.detach().contiguous().cpu().reshape(-1).view(torch.uint8)
        found.update(bits.numpy().tobytes())
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class State:
    """What an operation depends on.

    `random` is the state of torch's generator on the CPU, or the name of a state that the
    operation seeds a generator of its own with. `autocast` is the type of its autocast context.
    Make one with `of`, so that no tensor of it is a view of what others write.
    """

    inputs: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    version: int = 0
    random: Tensor | str | None = None
    autocast: torch.dtype | None = None

    @classmethod
    def of(
        cls,
        inputs: Iterable[Tensor],
        weights: Iterable[Tensor],
        version: int = 0,
        random: Tensor | str | None = None,
        autocast: torch.dtype | None = None,
    ) -> "State":
        """Return a state that owns contiguous copies of everything."""
        own = random.clone() if isinstance(random, Tensor) else random
        return cls(owned(inputs), owned(weights), version, own, autocast)

    def copied(self) -> "State":
        """Return a copy that another rank may hold."""
        return State.of(self.inputs, self.weights, self.version, self.random, self.autocast)

    def preconditions(self) -> dict[str, str]:
        """Return what must be equal before outputs are compared, by name."""
        random = digest([self.random]) if isinstance(self.random, Tensor) else str(self.random)
        shapes = [(str(each.dtype), tuple(each.shape)) for each in self.weights]
        return {
            "inputs": digest(self.inputs),
            "random state": random,
            "weight version": f"{self.version} {shapes}",
            "precision": str(self.autocast),
        }


Run = Callable[[State], Sequence[Tensor]]
"""Carries an operation out on a state; returns what it makes."""


def carried_out(run: Run, state: State) -> tuple[Tensor, ...]:
    """Run an operation on a copy of a state, in its own precision, context and random state.

    The caller's random state is as it was afterwards.
    """
    own = state.copied()
    with torch.random.fork_rng(devices=[]):
        if isinstance(own.random, Tensor):
            torch.random.set_rng_state(own.random)
        with torch.autocast("cpu", dtype=own.autocast, enabled=own.autocast is not None):
            return owned(run(own))
