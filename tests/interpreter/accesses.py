"""Which storage every instruction reads and writes, by the names that stand in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.interpreter.program import value_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec


@dataclass(slots=True)
class Touch:
    """What one instruction, or one message of it, does to storage.

    Attributes:
        reads: Pairs of the value that is named and the storage that is read.
        writes: What each written storage holds afterwards.
        tags: Names that what a storage holds has from the end of the instruction on.
        frees: Storage that is given back.
    """

    reads: list[tuple[str, str]] = field(default_factory=list)
    writes: dict[str, frozenset[str]] = field(default_factory=dict)
    tags: list[tuple[str, str]] = field(default_factory=list)
    frees: list[str] = field(default_factory=list)


class RankStorage:
    """The storage of one rank.

    Attributes:
        touches: One to an instruction; to a bracket, one to each of its messages.
        given: The values that are in a storage from the start.
    """

    def __init__(self, spec: Spec, rank: int) -> None:
        self.spec = spec
        self.program = spec.programs[rank]
        self.where: dict[str, str] = {}
        self.given: dict[str, set[str]] = {}
        self.used: Counter[str] = Counter()
        self.made = {value for step in self.program for value in self._puts(step)}
        self.sent = {
            message.value
            for step in self.program
            for message in step.messages
            if message.kind == "SEND"
        }
        self.touches = [self._touch(step) for step in self.program]

    def _puts(self, step: Instruction) -> Iterator[str]:
        """The values that an instruction brings onto the rank."""
        stage, microbatch = step.stage, step.microbatch
        if step.kind == "F":
            yield f"F{stage}.{microbatch}"
            yield f"K{stage}.{microbatch}"
            if self._makes_loss(step):
                yield f"L.{microbatch}"
        elif step.kind in ("B", "I"):
            yield f"B{stage}.{microbatch}"
        elif step.kind == "L":
            yield f"L.{microbatch}"
        elif step.kind in ("LOAD", "WRITE"):
            yield step.value
        yield from (message.value for message in step.messages if message.kind == "RECV")

    def _makes_loss(self, forward: Instruction) -> bool:
        """Whether a forward is the last and no L stands for its microbatch."""
        written = any(s.kind == "L" and s.microbatch == forward.microbatch for s in self.program)
        return forward.stage == self.spec.stages - 1 and not written

    def _touch(self, step: Instruction) -> tuple[Touch, ...]:
        if step.kind in ("SEND", "RECV", "GROUP"):
            messages = step.messages
            found = [Touch() for _ in messages]
            for kind in ("SEND", "RECV"):  # in one bracket reads come before writes
                for message, touch in zip(messages, found, strict=True):
                    if message.kind == kind:
                        self._message(message, touch)
            return tuple(found)
        touch = Touch()
        match step.kind:
            case "F":
                self._forward(step, touch)
            case "L":
                self._loss(step, touch)
            case "B" | "I" | "W":
                self._backward(step, touch)
            case "R":
                self._read(touch, f"K{step.stage}.{step.microbatch}", "")
            case _:
                self._plain(step, touch)
        return (touch,)

    def _message(self, message: Instruction, touch: Touch) -> None:
        if message.kind == "SEND":
            self._read(touch, message.value, message.get("buf"))
        else:
            storage = message.get("buf") or self._received(message.value)
            self._put(touch, message.value, storage)

    def _forward(self, step: Instruction, touch: Touch) -> None:
        stage, microbatch = step.stage, step.microbatch
        source = f"F{stage - 1}.{microbatch}" if stage else f"X.{microbatch}"
        self._read(touch, source, step.get("in"))
        if step.get("aux"):
            self._read(touch, f"A.{microbatch}", step.get("aux"))
        taken = touch.reads[0][1]
        kept, keep = f"K{stage}.{microbatch}", step.get("keep")
        made = f"F{stage}.{microbatch}"
        self._put(touch, made, step.get("out") or self._made(made, stage, microbatch))
        if keep and keep in (taken, self.where[made]):
            touch.tags.append((keep, kept))
            self.where[kept] = keep
        else:
            self._put(touch, kept, keep or self._slot("stash", stage, "", microbatch))
        if self._makes_loss(step):
            self._put(touch, f"L.{microbatch}", self._register("loss"))

    def _loss(self, step: Instruction, touch: Touch) -> None:
        self._read(touch, f"F{self.spec.stages - 1}.{step.microbatch}", step.get("in"))
        self._read(touch, f"Y.{step.microbatch}", step.get("label"))
        self._put(touch, f"L.{step.microbatch}", step.get("out") or self._register("loss"))

    def _backward(self, step: Instruction, touch: Touch) -> None:
        stage, microbatch = step.stage, step.microbatch
        self._read(touch, f"K{stage}.{microbatch}", "")
        if step.kind == "W":
            return
        last = stage == self.spec.stages - 1
        source = f"L.{microbatch}" if last else f"B{stage + 1}.{microbatch}"
        self._read(touch, source, step.get("gin"))
        made = f"B{stage}.{microbatch}"
        self._put(touch, made, step.get("gout") or self._made(made, stage, microbatch))

    def _plain(self, step: Instruction, touch: Touch) -> None:
        match step.kind:
            case "LOAD":
                self._put(touch, step.value, step.get("buf"))
            case "WRITE":
                self._put(touch, step.value, step.name)
            case "USE":
                self._read(touch, step.value, step.name)
            case "FREE":
                touch.frees.append(step.name)
            case _:
                pass

    def _read(self, touch: Touch, value: str, named: str) -> None:
        storage = named or self.where.get(value) or f"own:{value}"
        touch.reads.append((value, storage))
        free = self.spec.fragment or value[:2] in ("X.", "Y.", "A.")
        if free and value not in self.made:
            self.given.setdefault(storage, set()).add(value)

    def _put(self, touch: Touch, value: str, storage: str) -> None:
        storage = storage or f"own:{value}"
        touch.writes[storage] = touch.writes.get(storage, frozenset()) | {value}
        self.where[value] = storage

    def _received(self, value: str) -> str:
        """The storage that a rule names for what is received."""
        parts = value_parts(value)
        if parts is None or parts[0] not in "FB":
            return ""
        letter, stage, microbatch = parts
        if letter == "B" and (register := self._register("grad")):
            return register
        reader = stage + 1 if letter == "F" else stage - 1
        return self._slot("receive", reader, letter, microbatch)

    def _made(self, value: str, stage: int, microbatch: int) -> str:
        """The storage that a rule names for what a stage makes and its rank sends."""
        return self._slot("send", stage, value[0], microbatch) if value in self.sent else ""

    def _register(self, name: str) -> str:
        listed = self.spec.node("storage.registers")
        return f"register:{name}" if listed is not None and name in listed else ""

    def _slot(self, pool: str, stage: int, letter: str, microbatch: int) -> str:
        rule = self.spec.node(f"storage.{pool}")
        if not isinstance(rule, Mapping):
            return ""
        shared = self.spec.key(f"storage.{pool}.per") == "rank"
        name = f"{pool}:" if shared else f"{pool}:{stage}{letter}:"
        by_use = self.spec.key(f"storage.{pool}.slot").startswith("use")
        turn = self.used[name] if by_use else microbatch
        self.used[name] += 1
        return f"{name}{turn % int(self.spec.key(f'storage.{pool}.slots'))}"
