"""What a checkpoint is made of: numbers, words and tensors in lists, and nothing that can run."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from pipeproof.errors import PipeproofError
from pipeproof.execution._compute import Made
from pipeproof.execution._gradients import Accumulator
from pipeproof.execution._graph import Graph
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import Cell, Message
from pipeproof.execution._weights import Held, _Version
from pipeproof.execution.replayer import Met
from pipeproof.execution.witness import Circumstances

__all__ = [
    "CheckpointError",
    "Flat",
    "Remains",
    "Tree",
    "differences",
    "digest",
    "flattened",
    "is_written",
    "read_all",
    "unflattened",
    "write_all",
]

Tree: TypeAlias = "bool | int | float | str | Tensor | list[Tree] | dict[str, Tree] | None"


class Remains(NamedTuple):
    """What is left of a forward in a checkpoint: what it ran on, and what it kept."""

    leaf: Tensor
    weights: list[Tensor]
    kept: Tensor


_TENSOR = "tensor"
_TYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        str(each): each
        for each in (
            torch.float64,
            torch.float32,
            torch.bfloat16,
            torch.float16,
            torch.int64,
            torch.int32,
            torch.uint8,
            torch.bool,
        )
    }
)
_Maker = Callable[..., object]
_ROWS: Mapping[str, _Maker] = MappingProxyType(
    {
        each.__name__: each
        for each in (Message, Made, Held, _Version, Illegal, Place, Circumstances, Met, Fraction)
    }
)
_SHARED: Mapping[str, type[object]] = MappingProxyType(
    {each.__name__: each for each in (Cell, Accumulator)}
)
_KINDS: Mapping[str, _Maker] = MappingProxyType(
    {
        **_ROWS,
        "dict": lambda *pairs: dict(pairs),
        "set": lambda *members: set(members),
        "tuple": lambda *members: members,
        "Fault": Fault,
        "Graph": Remains,
    }
)


class CheckpointError(PipeproofError):
    """A checkpoint cannot be taken, read or taken up again; the message says why."""


def write_all(values: Mapping[str, object]) -> dict[str, Tree]:
    """Return what stands for values in a checkpoint; it shares no memory with them.

    Raises:
        TypeError: nothing stands for one of them.
    """
    writer = _Writer()
    return {name: writer.write(value) for name, value in sorted(values.items())}


def is_written(value: object) -> bool:
    """Whether a value of this package stands in a checkpoint as a whole, by its type."""
    return isinstance(value, (tuple, Graph, Fault, Met, Cell, Accumulator))


def read_all(trees: Mapping[str, Tree]) -> dict[str, object]:
    """Return the values that trees stand for; a graph comes back as what remains of it.

    Raises:
        CheckpointError: they stand for none.
    """
    reader = _Reader()
    try:
        return {name: reader.read(tree) for name, tree in sorted(trees.items())}
    except (IndexError, TypeError, ValueError, ArithmeticError) as error:
        message = f"one of {', '.join(sorted(trees))} is incomplete: {error}"
        raise CheckpointError(message) from error


class _Writer:
    """Writes one value; what is met again in it is written once."""

    def __init__(self) -> None:
        self.told: dict[int, int] = {}

    def write(self, value: object) -> Tree:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, Tensor):
            return value.detach().clone()
        if isinstance(value, list):
            return [self.write(each) for each in value]
        kind, parts = self._taken_apart(value)
        return {"kind": kind, "of": [self.write(each) for each in parts]}

    def _taken_apart(self, value: object) -> tuple[str, Sequence[object]]:
        name, parts = type(value).__name__, list[object]()
        match value:
            case dict():
                parts = [list(pair) for pair in value.items()]
            case set():
                parts = sorted(value)
            case Graph():
                parts = [value.leaf.detach(), value.weights, value.kept]
            case Fault():
                parts = [value.value]
            case float():
                parts = [value.hex()]
            case Fraction():
                parts = [value.numerator, value.denominator]
            case Met():
                parts = [getattr(value, each.name) for each in fields(value)]
            case tuple():
                return name if name in _ROWS else "tuple", value
            case _:
                return self._object(value)
        return name, parts

    def _object(self, value: object) -> tuple[str, Sequence[object]]:
        if type(value).__name__ not in _SHARED:
            message = f"a checkpoint has no form for {type(value).__name__}"
            raise TypeError(message)
        if id(value) in self.told:
            return "again", [self.told[id(value)]]
        self.told[id(value)] = len(self.told)
        return type(value).__name__, [list(pair) for pair in sorted(vars(value).items())]


class _Reader:
    """Reads one tree."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def read(self, tree: Tree) -> object:
        if isinstance(tree, Tensor):
            return tree.clone()
        if isinstance(tree, list):
            return [self.read(each) for each in tree]
        if not isinstance(tree, dict):
            return tree
        kind, parts = str(tree.get("kind")), tree.get("of")
        if not isinstance(parts, list):
            message = f"{kind} holds nothing"
            raise CheckpointError(message)
        if kind in _SHARED:
            return self._object(_SHARED[kind], parts)
        if kind == "again":
            return self.told[_number(parts)]
        return self._made(kind, [self.read(each) for each in parts])

    def _made(self, kind: str, parts: list[object]) -> object:
        if kind == "float":
            return float.fromhex(str(parts[0]))
        if kind not in _KINDS:
            message = f"a checkpoint has no {kind}"
            raise CheckpointError(message)
        return _KINDS[kind](*parts)

    def _object(self, kind: type[object], parts: Iterable[Tree]) -> object:
        made = object.__new__(kind)
        self.told.append(made)
        for pair in parts:
            if isinstance(pair, list):
                setattr(made, str(pair[0]), self.read(pair[1]))
        return made


def _number(parts: Sequence[Tree]) -> int:
    (number,) = parts
    if not isinstance(number, int):
        message = f"{number} is no number"
        raise CheckpointError(message)
    return number


class Flat(NamedTuple):
    """A tree as text, with a number in the place of each tensor, and the bytes of the tensors."""

    text: bytes
    tensors: bytes


def flattened(tree: Tree) -> Flat:
    """Return a tree as bytes, bit by bit: types, shapes and strides of tensors included."""
    tensors: list[bytes] = []
    plain = _flat(tree, tensors)
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Flat(text.encode(), b"".join(tensors))


def _flat(tree: Tree, tensors: list[bytes]) -> object:
    if isinstance(tree, list):
        return [_flat(each, tensors) for each in tree]
    if isinstance(tree, dict):
        return {key: _flat(tree[key], tensors) for key in sorted(tree)}
    if not isinstance(tree, Tensor):
        return tree
    bits = tree.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    tensors.append(bits)
    dtype, shape, stride = str(tree.dtype), list(tree.shape), list(tree.stride())
    return {_TENSOR: [dtype, shape, stride, len(bits)]}


def unflattened(flat: Flat) -> Tree:
    """Return the tree that bytes are; nothing in them is run.

    Raises:
        CheckpointError: they are none.
    """
    try:
        plain = json.loads(flat.text)
        rest = bytearray(flat.tensors)
        place = [0]
        return _grown(plain, rest, place)
    except (ValueError, TypeError, KeyError, RuntimeError, RecursionError) as error:
        message = f"no tree of numbers, words and tensors: {error}"
        raise CheckpointError(message) from error


def _grown(plain: object, tensors: bytearray, place: list[int]) -> Tree:
    match plain:
        case list():
            return [_grown(each, tensors, place) for each in plain]
        case {"tensor": [str(dtype), list(shape), list(stride), int(size)], **rest} if not rest:
            start, place[0] = place[0], place[0] + size
            return _tensor(dtype, shape, stride, tensors[start : start + size])
        case dict():
            return {str(key): _grown(each, tensors, place) for key, each in plain.items()}
        case None | bool() | int() | float() | str():
            return plain
        case _:
            message = f"{type(plain).__name__} stands for nothing"
            raise ValueError(message)


def _tensor(dtype: str, shape: list[int], stride: list[int], bits: bytearray) -> Tensor:
    kind = _TYPES[dtype]
    made = torch.empty_strided(shape, stride, dtype=kind)
    if bits:
        made.copy_(torch.frombuffer(bits, dtype=kind).reshape(shape))
    return made


def digest(tree: Tree) -> str:
    """Return a digest of a tree, bit by bit."""
    flat = flattened(tree)
    into = hashlib.sha256(flat.text)
    into.update(flat.tensors)
    return into.hexdigest()


def _alike(left: Tree, right: Tree) -> bool:
    return left is right or flattened(left) == flattened(right)


def differences(left: Mapping[str, Tree], right: Mapping[str, Tree]) -> list[str]:
    """Return the names under which two tables differ, bit by bit; a NaN equals its own bits."""
    alike = {*left, *right}
    return [
        name
        for name in sorted(alike)
        if name not in left or name not in right or not _alike(left[name], right[name])
    ]
