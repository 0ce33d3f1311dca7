"""A schedule and what is assumed about its runtime, read from the text of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import yaml

from tests.interpreter.program import Instruction, UnsupportedTextError, read_program

Node = str | Sequence["Node"] | Mapping[str, "Node"]

_WAITS = {"rendezvous": "blocking", "buffered": "blocking"}


@dataclass(frozen=True, slots=True)
class Transport:
    """When messages complete, in a queue of `none`."""

    completion: str
    wait: str


@dataclass(frozen=True, slots=True)
class Spec:
    """One schedule, without its title and what it expects.

    Attributes:
        placement: The rank of each stage.
        keys: Everything else that stands in the file.
    """

    stages: int
    microbatches: int
    steps: int
    placement: tuple[int, ...]
    fragment: bool
    transport: Transport
    programs: tuple[tuple[Instruction, ...], ...]
    keys: Mapping[str, Node]

    def key(self, path: str, default: str = "") -> str:
        """A scalar below mappings, such as `storage.weights.slots`."""
        found = self.node(path)
        return found if isinstance(found, str) else default

    def node(self, path: str) -> Node | None:
        """What stands below mappings, such as `gradients.tied`."""
        node: Node | None = self.keys
        for name in path.split("."):
            node = node.get(name) if isinstance(node, Mapping) else None
        return node

    def number(self, path: str) -> int | None:
        """A whole number below mappings."""
        found = self.key(path)
        return int(found) if found else None

    def whole(self, kind: str) -> bool:
        """Whether an instruction of a kind stands in the file."""
        return any(step.kind == kind for program in self.programs for step in program)

    def of_stage(self, stage: int) -> tuple[Instruction, ...]:
        """The program of a stage's rank."""
        return self.programs[self.placement[stage]]

    @property
    def tied(self) -> tuple[tuple[int, ...], ...]:
        """The lists of stages that share a parameter."""
        return groups_of(self.node("gradients.tied") or [])

    def asked(self, microbatch: int) -> Fraction:
        """The coefficient that is asked of a microbatch."""
        node = self.node("gradients.coefficients") or "sum"
        place = microbatch % self.microbatches
        match node:
            case "mean":
                return Fraction(1, self.microbatches)
            case "sum":
                return Fraction(1)
            case Mapping():
                tokens = [Fraction(token) for token in texts_of(node["tokens"])]
                return tokens[place] / sum(tokens)
            case _:
                return Fraction(texts_of(node)[place])


def texts_of(node: Node) -> list[str]:
    """The scalars of a list."""
    assert not isinstance(node, str)
    return [item for item in node if isinstance(item, str)]


def groups_of(node: Node) -> tuple[tuple[int, ...], ...]:
    """A list of lists of numbers."""
    assert not isinstance(node, str | Mapping)
    return tuple(tuple(int(item) for item in texts_of(inner)) for inner in node)


def read_spec(text: str) -> Spec:
    """The schedule of a spec file.

    Raises:
        UnsupportedTextError: The file uses something that the interpreter does not run.
    """
    keys = _plain(yaml.compose(text, Loader=yaml.SafeLoader))
    assert isinstance(keys, Mapping)
    for name in ("pipelines", "segments", "schedule", "import", "faults", "profile"):
        if name in keys:
            raise UnsupportedTextError(name)
    stages, programs = int(_scalar(keys, "stages")), keys["ranks"]
    assert isinstance(programs, Sequence)
    placement = _placement(keys.get("placement", "loop"), stages, len(programs))
    return Spec(
        stages,
        int(_scalar(keys, "microbatches")),
        int(_scalar(keys, "steps", "1")),
        placement,
        _scalar(keys, "fragment", "false") == "true",
        _transport(keys.get("transport", "rendezvous")),
        tuple(read_program(_program(program), placement) for program in programs),
        keys,
    )


def _scalar(keys: Mapping[str, Node], name: str, default: str = "") -> str:
    found = keys.get(name, default)
    assert isinstance(found, str)
    return found


def _program(node: Node) -> str:
    return node if isinstance(node, str) else "\n".join(texts_of(node))


def _placement(node: Node, stages: int, ranks: int) -> tuple[int, ...]:
    if node == "loop":
        return tuple(stage % ranks for stage in range(stages))
    if isinstance(node, str):
        raise UnsupportedTextError(node)
    return tuple(map(int, texts_of(node)))


def _transport(node: Node) -> Transport:
    if isinstance(node, Mapping):
        if node.get("queue", "none") != "none" or node.get("groups") == "atomic":
            raise UnsupportedTextError(str(node))
        return Transport(_scalar(node, "completion"), _scalar(node, "wait", "blocking"))
    if isinstance(node, str) and node in _WAITS:
        return Transport(node, _WAITS[node])
    raise UnsupportedTextError(str(node))


def _plain(node: yaml.Node | None) -> Node:
    """A node of the file without its types."""
    match node:
        case yaml.MappingNode():
            return {str(key.value): _plain(value) for key, value in node.value}
        case yaml.SequenceNode():
            return [_plain(value) for value in node.value]
        case yaml.ScalarNode():
            return str(node.value)
        case _:
            raise UnsupportedTextError(str(node))
