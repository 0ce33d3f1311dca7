"""All that a schedule has on a device: storages, weights, gradients, messages, kept forwards."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution._graph import Graph
from pipeproof.execution._touches import Key
from pipeproof.execution.streams.device import Device

__all__ = ["Seen", "Snapshot", "State", "alike"]

_Name = tuple[str, *tuple[int, ...]]


class Seen(NamedTuple):
    """Numbers that an event read or used, and what they were to be.

    `key` is the memory in which a value of the code `value` stood; for a gradient that is used the
    key is `(stage, weight)` and `value` -1.
    """

    event: int
    row: int
    key: Key
    value: int
    data: Tensor


class Snapshot(NamedTuple):
    """Everything, copied to the host: numbers by name, and the inputs of what forwards ran."""

    numbers: dict[_Name, Tensor]
    forwards: dict[tuple[int, int], tuple[Tensor, tuple[Tensor, ...]]]


class State:
    """Everything on the device, by name.

    `numbers` is memory that streams share; `graphs` are forwards that were run; `made` is what a
    row has computed and not put yet; `left` is what an input gradient leaves to the weight's.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.numbers: dict[_Name, Tensor] = {}
        self.graphs: dict[tuple[int, int], Graph] = {}
        self.made: dict[tuple[int, int], Tensor] = {}
        self.left: dict[tuple[int, int], Tensor] = {}
        self._placed: list[Tensor | Graph] = []

    def place(self, numbers: Tensor) -> Tensor:
        """Return a copy of numbers on the device, which stays there for good.

        A device that takes memory back knows only of the stream that it was made for.
        """
        placed = self.device.place(numbers)
        self._placed.append(placed)
        return placed

    def give(self, identity: tuple[int, int], graph: Graph) -> None:
        """Take a forward that was run beside the streams; what it holds stays for good."""
        self._placed.append(graph)
        self.graphs[identity] = graph

    def hold(self, name: _Name, numbers: Tensor) -> None:
        """Make memory of its own for numbers."""
        self.numbers[name] = self.place(numbers)

    def storage(self, key: Key) -> Tensor:
        """Return a storage."""
        return self.numbers["storage", *key]

    def take(self, key: Key, size: int) -> Tensor:
        """Return a copy of the first numbers of a storage."""
        return self.storage(key)[:size].clone()

    def put(self, key: Key, data: Tensor) -> None:
        """Write numbers into a storage, and NaN behind them."""
        storage = self.storage(key)
        storage[: data.numel()].copy_(data.reshape(-1))
        storage[data.numel() :].fill_(torch.nan)

    def empty(self, key: Key) -> None:
        """Fill a storage with NaN."""
        self.storage(key).fill_(torch.nan)

    def snapshot(self) -> Snapshot:
        """Return a copy of everything. The device must have finished."""
        numbers = dict(self.numbers)
        numbers |= {("made", *key): each for key, each in self.made.items()}
        numbers |= {("left", *key): each for key, each in self.left.items()}
        return Snapshot(
            {name: each.detach().cpu().clone() for name, each in numbers.items()},
            {key: _forward(graph) for key, graph in self.graphs.items()},
        )

    def restore(self, numbers: dict[_Name, Tensor]) -> None:
        """Take everything but forwards from a snapshot."""
        for name, each in numbers.items():
            place = self.place(each)
            match name:
                case ("made", row, value):
                    self.made[row, value] = place
                case ("left", stage, microbatch):
                    self.left[stage, microbatch] = place
                case _:
                    self.numbers[name].copy_(place)


def _forward(graph: Graph) -> tuple[Tensor, tuple[Tensor, ...]]:
    weights = tuple(each.detach().cpu().clone() for each in graph.weights)
    return graph.leaf.detach().cpu().clone(), weights


def alike(left: Snapshot, right: Snapshot) -> Iterator[str]:
    """Yield what is not bitwise equal in two snapshots, NaN included."""
    names = set(left.numbers) | set(right.numbers)
    for name in sorted(names, key=str):
        one, other = left.numbers.get(name), right.numbers.get(name)
        if one is None or other is None or not _bitwise(one, other):
            yield " ".join(map(str, name))
    for identity in sorted(set(left.forwards) | set(right.forwards)):
        both = left.forwards.get(identity), right.forwards.get(identity)
        if None in both or not _same_forward(left, right, identity):
            yield f"forward {identity[0]}F{identity[1]}"


def _same_forward(left: Snapshot, right: Snapshot, identity: tuple[int, int]) -> bool:
    one, other = left.forwards[identity], right.forwards[identity]
    pairs = zip((one[0], *one[1]), (other[0], *other[1]), strict=True)
    return all(_bitwise(*pair) for pair in pairs)


def _bitwise(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.equal(one.view(torch.uint8), other.view(torch.uint8)))
