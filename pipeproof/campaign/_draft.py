"""A schedule that can be changed word by word, and made a schedule again."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple

from pipeproof.errors import InputError
from pipeproof.ir.program import Piece, Programs
from pipeproof.ir.reading import Mistakes, ReadOptions
from pipeproof.ir.schedule import Gradients, Plain, Reduce, Schedule
from pipeproof.ir.source import Document, OnePlace
from pipeproof.ir.spec_text import write_spec
from pipeproof.ir.transport import Transport

__all__ = ["TORCH", "Draft", "Line", "Operation", "Spot", "Tree", "draft_of", "line_of", "numbers"]

Tree = str | list["Tree"] | dict[str, "Tree"]
"""What a key of a file holds, as something that can be changed."""

_STAGED = re.compile(r"(\d+)([A-Z_]+?)(\d*)")
_VALUE = re.compile(r"([FB])(\d+)\.(\d+)|([XYAL])\.(\d+)")
_KINDS = {"REDUCE_GRAD": "REDUCE"}
TORCH = ("SEND_F", "SEND_B", "RECV_F", "RECV_B")


@dataclass(slots=True)
class Operation:
    """One operation: its words, as `SEND F0.1`, and its attributes."""

    words: list[str]
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The operation as it is written."""
        return " ".join([*self.words, *(f"{key}={each}" for key, each in self.attributes.items())])

    @property
    def kind(self) -> str:
        """What it is, as `F` or `SEND`; `REDUCE_GRAD` is `REDUCE`."""
        found = _STAGED.fullmatch(self.words[0])
        word = found[2] if found else self.words[0]
        return _KINDS.get(word, word)

    @property
    def stage(self) -> int:
        """The stage it stands for; -1 where it has none."""
        found = _STAGED.fullmatch(self.words[0])
        return int(found[1]) if found else -1

    @property
    def microbatch(self) -> int:
        """The microbatch of a computation or of a value that is moved; -1 where there is none."""
        found = _STAGED.fullmatch(self.words[0])
        if found:
            return int(found[3]) if found[3] else -1
        value = _VALUE.fullmatch(self.words[1]) if len(self.words) > 1 else None
        return int(value[3] or value[5]) if value else -1

    @property
    def is_send(self) -> bool:
        """Whether it sends a message."""
        return self.kind in ("SEND", "SEND_F", "SEND_B")

    @property
    def is_receive(self) -> bool:
        """Whether it receives a message."""
        return self.kind in ("RECV", "RECV_F", "RECV_B")

    def copy(self) -> "Operation":
        """Return another one with the same content."""
        return Operation(list(self.words), dict(self.attributes))


@dataclass(slots=True)
class Line:
    """One instruction: an operation, or those of a group or an overlap.

    `attributes` are what stands behind a bracket.
    """

    operations: list[Operation]
    form: Literal["one", "group", "overlap"] = "one"
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The instruction as it is written."""
        if self.form == "one":
            return self.operations[0].text
        group = self.form == "group"
        inside = (" | " if group else ";").join(each.text for each in self.operations)
        written = f"[{inside}]" if group else f"({inside})OVERLAP_F_B"
        return " ".join([written, *(f"{key}={each}" for key, each in self.attributes.items())])

    @property
    def first(self) -> Operation:
        """Its first operation."""
        return self.operations[0]

    @property
    def own(self) -> dict[str, str]:
        """What stands behind the instruction as a whole."""
        return self.first.attributes if self.form == "one" else self.attributes

    def copy(self) -> "Line":
        """Return another one with the same content."""
        return Line([each.copy() for each in self.operations], self.form, dict(self.attributes))


class Spot(NamedTuple):
    """Where an operation stands: rank, position, place within the instruction."""

    rank: int
    position: int
    member: int


@dataclass(slots=True)
class Draft:
    """A schedule: programs, and keys of the file that may be changed."""

    programs: list[list[Line]]
    stages: int
    microbatches: int
    steps: int | None
    placement: list[int]
    fragment: bool
    segments: int
    pipelines: list[list[int]]
    transports: tuple[Transport, ...]
    reduce: Reduce
    gradients: dict[str, Tree]
    described: dict[str, Tree]
    base: Schedule

    def copy(self) -> "Draft":
        """Return another one with the same content."""
        return replace(
            self,
            programs=[[line.copy() for line in program] for program in self.programs],
            placement=list(self.placement),
            pipelines=[list(line) for line in self.pipelines],
            gradients={key: _copied(each) for key, each in self.gradients.items()},
            described={key: _copied(each) for key, each in self.described.items()},
        )

    def every(self, *kinds: str) -> list[tuple[Spot, Operation]]:
        """Return where operations stand, of some kinds or of all, in program order."""
        return [
            (Spot(rank, position, member), each)
            for rank, program in enumerate(self.programs)
            for position, line in enumerate(program)
            for member, each in enumerate(line.operations)
            if not kinds or each.kind in kinds
        ]

    def at(self, spot: Spot) -> Line:
        """Return the instruction at a place."""
        return self.programs[spot.rank][spot.position]

    def rank_of(self, stage: int) -> int:
        """Return the rank of a stage; -1 where nothing says it."""
        if 0 <= stage < len(self.placement):
            return self.placement[stage]
        homes = [
            spot.rank for spot, each in self.every("F", "B", "I", "W", "L") if each.stage == stage
        ]
        looped = stage % len(self.programs) if 0 <= stage < self.stages else -1
        return homes[0] if homes else looped

    def message(self, spot: Spot, operation: Operation) -> tuple[str, int, int, str]:
        """Return value, sender, receiver and communicator of a message; -1 for whichever rank."""
        comm = operation.attributes.get("comm", "")
        if operation.kind in TORCH:
            stage, microbatch = operation.stage, operation.microbatch
            forward = operation.kind.endswith("F")
            peer = self.rank_of(stage + (1 if forward == operation.is_send else -1))
            made = stage if operation.is_send else stage + (-1 if forward else 1)
            value = f"{operation.kind[-1]}{made}.{microbatch}"
        else:
            said = operation.attributes.get("to") or operation.attributes.get("from") or "any"
            peer = int(said) if said.isdigit() else -1
            value = operation.words[1]
        ends = (spot.rank, peer) if operation.is_send else (peer, spot.rank)
        return (value, *ends, comm)

    def schedule(self) -> Schedule:
        """Return it as a schedule.

        Raises:
            InputError: it is none: a handle is awaited that nobody starts, or the like.
        """
        mistakes = Mistakes("draft")
        programs = Programs(mistakes, ReadOptions())
        ready = self.described.get("ready", {})
        for rank, program in enumerate(self.programs):
            text = "\n".join(line.text for line in program)
            programs.read([Piece(text, 1, 1)], ordered=str(rank) not in ready)
        programs.check_choices()
        mistakes.settle()
        return replace(
            self.base,
            operations=programs.operations(),
            ranks=len(self.programs),
            stages=self.stages,
            microbatches=self.microbatches,
            placement=tuple(self.placement),
            steps=self.steps,
            fragment=self.fragment,
            segments=self.segments,
            pipelines=tuple(map(tuple, self.pipelines)),
            transports=self.transports,
            gradients=Gradients(self.reduce, MappingProxyType(_frozen_keys(self.gradients))),
            described=MappingProxyType(_frozen_keys(self.described)),
            slots=None,
        )

    def words(self) -> str:
        """Return all that may be changed as one text, to be compared."""
        programs = [[line.text for line in program] for program in self.programs]
        keys = (self.stages, self.microbatches, self.steps, self.placement, self.fragment)
        more = (self.segments, self.pipelines, self.transports, self.reduce)
        return repr((programs, keys, more, self.gradients, self.described))

    def text(self) -> str | None:
        """Return it as a spec file; None where it is no schedule."""
        try:
            return write_spec(Document("draft", self.schedule(), OnePlace()), None)
        except InputError:
            return None


def draft_of(schedule: Schedule) -> Draft:
    """Return a schedule as something that can be changed."""
    ranks = range(schedule.ranks)
    return Draft(
        programs=[[line_of(each) for each in schedule.operations.program(rank)] for rank in ranks],
        stages=schedule.stages,
        microbatches=schedule.microbatches,
        steps=schedule.steps,
        placement=list(schedule.placement),
        fragment=schedule.fragment,
        segments=schedule.segments,
        pipelines=[list(line) for line in schedule.pipelines],
        transports=schedule.transports,
        reduce=schedule.gradients.reduce,
        gradients={key: _thawed(each) for key, each in schedule.gradients.other.items()},
        described={key: _thawed(each) for key, each in schedule.described.items()},
        base=schedule,
    )


def line_of(text: str) -> Line:
    """Return an instruction, as the language writes it, as something that can be changed."""
    if text[0] == "[":
        inside, _, behind = text[1:].partition("]")
        members = [_operation(each) for each in inside.split("|")]
        return Line(members, "group", _operation(f"x {behind}").attributes)
    if text[0] == "(":
        inside, _, behind = text[1:].partition(")OVERLAP_F_B")
        members = [_operation(each) for each in inside.split(";")]
        return Line(members, "overlap", _operation(f"x {behind}").attributes)
    return Line([_operation(text)])


def _operation(text: str) -> Operation:
    words = text.split()
    attributes = dict(word.split("=", 1) for word in words if "=" in word)
    return Operation([word for word in words if "=" not in word], attributes)


def _thawed(value: Plain) -> Tree:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _thawed(each) for key, each in value.items()}
    return [_thawed(each) for each in value]


def _frozen(value: Tree) -> Plain:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return MappingProxyType(_frozen_keys(value))
    return tuple(_frozen(each) for each in value)


def _frozen_keys(value: Mapping[str, Tree]) -> dict[str, Plain]:
    return {key: _frozen(each) for key, each in value.items()}


def _copied(value: Tree) -> Tree:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value]


def numbers(value: Tree) -> Iterator[tuple[int, Callable[[str], None]]]:
    """Yield the whole numbers of a key, each with what puts another text in its place."""
    if isinstance(value, dict):
        for key, each in list(value.items()):
            yield from _number(each, partial(value.__setitem__, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _number(each, partial(value.__setitem__, index))


def _number(value: Tree, put: Callable[[str], None]) -> Iterator[tuple[int, Callable[[str], None]]]:
    if isinstance(value, str):
        if value.isdigit():
            yield int(value), put
    else:
        yield from numbers(value)
