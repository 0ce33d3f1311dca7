"""Schedules that can be changed line by line, and written out as files."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.interpreter.program import read_instruction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.program import Instruction


@dataclass(slots=True)
class Line:
    """One instruction: its head, such as `1F0` or `SEND F0.1`, and its attributes."""

    head: str
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The instruction as it is written."""
        return " ".join([self.head, *(f"{key}={value}" for key, value in self.attributes.items())])

    @property
    def read(self) -> Instruction:
        """The instruction as it is understood."""
        return read_instruction(self.text)

    @property
    def kind(self) -> str:
        """Its kind, such as `F` or `SEND`."""
        return self.read.kind

    @property
    def stage(self) -> int:
        """Its stage; -1 where it has none."""
        return self.read.stage

    @property
    def microbatch(self) -> int:
        """Its microbatch; -1 where it has none."""
        return self.read.microbatch


@dataclass(slots=True)
class Draft:
    """A schedule.

    Attributes:
        placement: The rank of each stage.
        keys: Further keys of the file; values as YAML.
    """

    stages: int
    microbatches: int
    placement: list[int]
    programs: list[list[Line]]
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The file."""
        lines = [
            "pipeproof: 1",
            f"stages: {self.stages}",
            f"microbatches: {self.microbatches}",
            f"placement: {self.placement}",
            *(f"{key}: {value}" for key, value in self.keys.items()),
            "ranks:",
        ]
        for program in self.programs:
            lines += ["  - |", *(f"    {line.text}" for line in program)]
        return "\n".join(lines) + "\n"

    def copy(self) -> Draft:
        """Another draft with the same content."""
        return deepcopy(self)

    def spots(self, *kinds: str) -> list[tuple[list[Line], int]]:
        """The lines of some kinds: the program and the position in it."""
        return [(program, n) for program, n in self.every() if program[n].kind in kinds]

    def every(self) -> Iterator[tuple[list[Line], int]]:
        """Every line: the program and the position in it."""
        for program in self.programs:
            for position in range(len(program)):
                yield program, position

    def of_stage(self, stage: int) -> list[Line]:
        """The program of a stage's rank."""
        return self.programs[self.placement[stage]]
