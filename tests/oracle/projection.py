"""A schedule as far as the machine knows it: messages, collectives, signals, named storage.

Everything else is left out, choices are made once, and what is left is written out again as a
fragment, so that it can be judged as it runs here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import yaml

from tests.oracle.instructions import (
    OPERATION,
    Await,
    Bracket,
    Collective,
    Compute,
    Instruction,
    Message,
    Program,
    Programs,
    Signal,
    Transport,
    Wait,
)
from tests.oracle.programs import render, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Projected", "projected"]

_TORCH = re.compile(r"(\d+)(SEND|RECV)_([FB])(\d+)")
_STORAGE = {
    "F": ("in", "out", "keep", "aux"),
    "L": ("in", "out", "label"),
    **dict.fromkeys("BIW", ("gin", "gout")),
    "R": (),
    "LOAD": ("buf",),
}


class Projected(NamedTuple):
    """Programs of ranks that hold `stages` stages, and the transports that the file asks for."""

    programs: Programs
    stages: int
    placement: tuple[int, ...]
    ids: int
    transports: tuple[Transport, ...]

    def text(self, transport: Transport) -> str:
        """The file under one of its transports."""
        keys: dict[str, object] = {
            "stages": self.stages,
            "microbatches": self.ids,
            "placement": list(self.placement),
        }
        return render(self.programs, transport, extra=keys)


def projected(text: str, placement: tuple[int, ...], ids: int, buffers: int = 0) -> Projected:
    """The schedule of a file whose stages stand on the ranks of `placement`.

    Args:
        text: the file.
        placement: the rank of each stage.
        ids: how many microbatch ids there are, over all steps.
        buffers: of each rank, for what is received without storage of its own, in turn.
    """
    keys = yaml.load(text, yaml.BaseLoader)  # noqa: S506  nothing but strings
    listed = [list(_words(program)) for program in keys["ranks"]]
    reader = _Reader(placement, listed, buffers)
    programs = tuple(reader.program(rank, words) for rank, words in enumerate(listed))
    return Projected(programs, len(placement), placement, ids, tuple(_transports(keys)))


def _words(program: str | Sequence[str]) -> Iterator[str]:
    lines = program.splitlines() if isinstance(program, str) else program
    for line in lines:
        for part in line.split("#")[0].split(";") if not line.startswith("(") else [line]:
            if part.strip():
                yield part.strip()


def _transports(keys: Mapping[str, object]) -> Iterator[Transport]:
    said = keys.get("transport", "strict")
    for each in said if isinstance(said, list) else [said]:
        if each == "strict":
            yield from ("rendezvous", "buffered")
        elif isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            made = {"queue": "none", "groups": "independent", "wait": "blocking", **each}
            if "capacity" in made:
                made["capacity"] = int(made["capacity"])
            yield made


class _Reader:
    """Reads the instructions of one file."""

    def __init__(self, placement: tuple[int, ...], listed: list[list[str]], buffers: int) -> None:
        self.placement, self.ranks = placement, len(listed)
        self.buffers, self.received = buffers, 0
        heads = {word.split()[0] for words in listed for word in words}
        self.losses = {head.partition("L")[2] for head in heads if re.fullmatch(r"\d+L\d+", head)}
        self.rank = 0
        self.brought = {
            (rank, microbatch)
            for rank, words in enumerate(listed)
            for microbatch in re.findall(r"(?:RECV|WRITE \S+) L\.(\d+)", " ; ".join(words))
        }

    def program(self, rank: int, words: list[str]) -> Program:
        self.rank = rank
        read = (self.instruction(rank, word) for word in words)
        return tidy([each for each in read if each is not None])

    def instruction(self, rank: int, word: str) -> Instruction | None:
        if word.startswith("["):
            inner, _, after = word[1:].rpartition("]")
            said = _attributes(after.split())
            found = [self.message(rank, part.strip()) for part in inner.split("|")]
            members = tuple(each for each in found if each is not None)
            known = members and said.get("if", ":a").endswith(":a")
            return Bracket(members, said.get("h", "")) if known else None
        if word.startswith("("):
            return self.overlap(word)
        head, *rest = word.split()
        said = _attributes(rest)
        if not said.get("if", ":a").endswith(":a"):
            return None
        if message := self.message(rank, word):
            return message
        return self.other(rank, head, rest, said)

    def message(self, rank: int, word: str) -> Message | None:
        head, *rest = word.split()
        said = _attributes(rest)
        if torch := _TORCH.fullmatch(head):
            stage, sends, letter = int(torch[1]), torch[2] == "SEND", torch[3]
            other = stage + (1 if (letter == "F") == sends else -1)
            if not 0 <= other < len(self.placement) or stage >= len(self.placement):
                return None
            value = f"{letter}{stage if sends else other}.{torch[4]}"
            return self.end(sends, value, self.placement[other], said)
        if head not in ("SEND", "RECV"):
            return None
        peer = said["to" if head == "SEND" else "from"]
        named = (rank + 1) % self.ranks if peer == "any" else int(peer)
        return self.end(head == "SEND", "v1" if rest[0] == "any" else rest[0], named, said)

    def end(self, sends: bool, value: str, peer: int, said: dict[str, str]) -> Message | None:  # noqa: FBT001
        """An end of a message, None where there is no such rank."""
        if peer >= self.ranks:
            return None
        buf = said.get("buf", "")
        if not (sends or buf) and self.buffers:
            buf, self.received = f"q{self.received % self.buffers}", self.received + 1
        return Message(sends, value, peer, said.get("comm", ""), said.get("h", ""), buf)

    def overlap(self, word: str) -> Compute:
        """Members in their order: what an earlier one makes is not waited for."""
        inner = word[1 : word.rindex(")")]
        needed: set[str] = set()
        made: set[str] = set()
        for part in inner.split(";"):
            head, *rest = part.split()
            needed |= self.read(head, _attributes(rest)) - made
            made |= self.made(head)
        return Compute(f"({inner})OVERLAP_F_B", more=frozenset(needed))

    def other(
        self, rank: int, head: str, rest: list[str], said: dict[str, str]
    ) -> Instruction | None:
        match head:
            case "WAIT":
                return Wait(rest[0])
            case "SIGNAL":
                return Signal(int(said["to"]))
            case "AWAIT":
                return Await(int(said["from"]))
            case "COLL":
                return self.collective(rank, rest[0], said)
            case "FREE" | "WRITE" | "USE":
                named = [each for each in rest if "=" not in each]
                more = frozenset(named[1:] if head == "USE" else ())
                return Compute(" ".join([head, *named]), more=more)
            case _:
                return self.operation(head, rest, said)

    def collective(self, rank: int, name: str, said: dict[str, str]) -> Collective | None:
        """An entry into a collective, None where the rank is not one of its ranks."""
        ranks = tuple(map(int, said["ranks"].split(",")))
        known = rank in ranks and len({*ranks}) == len(ranks)
        return Collective(name, ranks, said.get("comm", ""), said.get("h", "")) if known else None

    def operation(self, head: str, rest: list[str], said: dict[str, str]) -> Compute | None:
        """An operation, None where the machine knows nothing of it."""
        if head == "LOAD":
            return Compute(f"LOAD {rest[0]}", _kept("LOAD", said))
        found = OPERATION.fullmatch(head)
        if found is None or int(found[1]) >= len(self.placement):
            return None
        if found[2] in ("STEP", "SKIP"):
            return Compute(head)
        if found[2] not in _STORAGE:
            return None
        return Compute(head, _kept(found[2], said), frozenset(self.read(head, said)))

    def read(self, head: str, said: dict[str, str]) -> set[str]:
        """The values that an operation reads."""
        found = OPERATION.fullmatch(head)
        assert found is not None
        stage, kind, microbatch = int(found[1]), found[2], found[3]
        last = stage == len(self.placement) - 1
        loss = {f"L.{microbatch}"} if microbatch in self.losses else set()
        match kind:
            case "F":
                values = {f"F{stage - 1}.{microbatch}" if stage else f"X.{microbatch}"}
                values |= {f"Y.{microbatch}"} if last and not loss else set()
                return values | ({f"A.{microbatch}"} if "aux" in said else set())
            case "L":
                return {f"F{len(self.placement) - 1}.{microbatch}", f"Y.{microbatch}"}
            case "B" | "I":
                if (self.rank, microbatch) in self.brought:
                    loss = {f"L.{microbatch}"}
                return loss if last else {f"B{stage + 1}.{microbatch}"}
            case "W" if "gin" in said:
                return {f"L.{microbatch}" if last else f"B{stage + 1}.{microbatch}"}
            case _:
                return set()

    def made(self, head: str) -> set[str]:
        """The values that an operation makes."""
        found = OPERATION.fullmatch(head)
        assert found is not None
        stage, kind, microbatch = found.groups()
        if kind == "F":
            return {f"F{stage}.{microbatch}"}
        return {f"B{stage}.{microbatch}"} if kind in "BI" else set()


def _kept(kind: str, said: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, said[key]) for key in _STORAGE[kind] if key in said)


def _attributes(words: Sequence[str]) -> dict[str, str]:
    return {key: value for word in words if "=" in word for key, value in [word.split("=")]}
