"""The instructions of a rank's program, read from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTRIBUTIONS = ("B", "W")
COMPUTES = ("F", "L", "B", "I", "W", "R")

_OPERATION = re.compile(r"(\d+)([A-Z]+?)(\d*)")
_MESSAGE = re.compile(r"(\d+)(SEND|RECV)_([FB])(\d+)")
_VALUE = re.compile(r"([A-Z])(\d*)\.(\d+)")
_NAMED = ("FREE", "WRITE", "USE", "WAIT", "RESTORE", "COLL")


class UnsupportedTextError(Exception):
    """The text uses something that the interpreter does not run."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        kind: `F`, `SEND`, `WAIT`, `GROUP` and so on.
        value: What is loaded, sent, received, written or used.
        name: The storage of FREE, WRITE and USE, the handle of WAIT.
        count: The number of HOLD, DROP and CONSUME.
        attributes: Pairs of key and value, as written.
        members: The messages of a bracket.
    """

    kind: str
    stage: int = -1
    microbatch: int = -1
    value: str = ""
    name: str = ""
    count: int = 0
    attributes: tuple[tuple[str, str], ...] = ()
    members: tuple[Instruction, ...] = ()

    def get(self, key: str) -> str:
        """An attribute; empty where it is not written."""
        return dict(self.attributes).get(key, "")

    @property
    def peer(self) -> int:
        """The other rank of a message."""
        return int(self.get("to") or self.get("from"))

    @property
    def coefficient(self) -> Fraction:
        """The coefficient with which a microbatch enters the gradient."""
        return Fraction(self.get("c") or "1")

    @property
    def identity(self) -> str:
        """What it is, whatever storage, version or handle it takes."""
        if self.kind in COMPUTES:
            parts = [f" {key}={self.get(key)}" for key in ("bucket", "param") if self.get(key)]
            return f"{self.stage}{self.kind}{self.microbatch}{''.join(parts)}"
        if self.kind in ("SEND", "RECV", "LOAD", "USE"):
            return f"{self.kind} {self.value}"
        stage = self.stage if self.stage >= 0 else ""
        return f"{stage}{self.kind} {self.name} {self.value}".strip()

    @property
    def messages(self) -> tuple[Instruction, ...]:
        """The messages that it posts."""
        if self.kind == "GROUP":
            return self.members
        return (self,) if self.kind in ("SEND", "RECV") else ()


def value_parts(value: str) -> tuple[str, int, int] | None:
    """The letter, stage (-1 where it has none) and microbatch of a value with a meaning."""
    found = _VALUE.fullmatch(value)
    return (found[1], int(found[2] or -1), int(found[3])) if found else None


def read_program(text: str, placement: Sequence[int]) -> tuple[Instruction, ...]:
    """The instructions of a program.

    Raises:
        UnsupportedTextError: An instruction that the interpreter does not know.
    """
    lines = [line.split("#")[0] for line in text.splitlines()]
    parts = [part.strip() for line in lines for part in line.split(";")]
    return tuple(read_instruction(part, placement) for part in parts if part)


def read_instruction(text: str, placement: Sequence[int] = ()) -> Instruction:
    """One instruction; without a placement torch's messages have no peer.

    Raises:
        UnsupportedTextError: An instruction that the interpreter does not know.
    """
    if text.startswith("["):
        inner, _, after = text[1:].partition("]")
        members = tuple(read_instruction(part.strip(), placement) for part in inner.split("|"))
        return Instruction("GROUP", attributes=_attributes(after.split()), members=members)
    head, *rest = text.split()
    if message := _MESSAGE.fullmatch(head):
        return _torch_message(message, rest, placement)
    if operation := _OPERATION.fullmatch(head):
        stage, kind, microbatch = operation.groups()
        known = Instruction(kind, int(stage), attributes=_attributes(rest))
        return replace(known, microbatch=int(microbatch)) if microbatch else known
    return _plain(head, rest)


def _torch_message(
    message: re.Match[str], rest: list[str], placement: Sequence[int]
) -> Instruction:
    """A message as torch writes it, turned into SEND or RECV."""
    stage, kind, letter, microbatch = message.groups()
    step = 1 if letter == "F" else -1
    other = int(stage) + (step if kind == "SEND" else -step)
    made = stage if kind == "SEND" else other
    peer = str(placement[other]) if placement else "-1"
    key = "to" if kind == "SEND" else "from"
    value = f"{letter}{made}.{microbatch}"
    return Instruction(kind, value=value, attributes=((key, peer), *_attributes(rest)))


def _plain(head: str, rest: list[str]) -> Instruction:
    """An instruction whose name stands first."""
    if head in ("LOAD", "SEND", "RECV"):
        return Instruction(head, value=rest[0], attributes=_attributes(rest[1:]))
    if head in ("HOLD", "DROP", "CONSUME"):
        return Instruction(head, count=int(rest[0]))
    if head in ("SAVE", "RESUME"):
        return Instruction(
            head, name=rest[0] if rest[:1] == ["async"] else "", attributes=_attributes(rest)
        )
    if head in _NAMED:
        value = rest[1] if head in ("WRITE", "USE") else ""
        return Instruction(head, name=rest[0], value=value, attributes=_attributes(rest[1:]))
    raise UnsupportedTextError(head)


def _attributes(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((word.split("=")[0], word.split("=")[1]) for word in words if "=" in word)
