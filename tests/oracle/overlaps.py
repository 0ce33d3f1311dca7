"""Accesses of named storage that may be in progress at the same time, over all interleavings.

An access starts with its instruction. It is over at the end of it, and one of a message when the
message has left its source, or is in its destination. So what a later instruction touches meets
an access before it only where that is a message's, which is still open when the other starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.oracle.instructions import (
    OPERATION,
    Bracket,
    Compute,
    Instruction,
    Message,
    Programs,
    Transport,
    messages,
)
from tests.oracle.machine import Result, TooManyStatesError, explore
from tests.oracle.motion import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.model import Place, State

__all__ = ["Access", "Overlap", "Seen", "accesses", "conflicts", "seen"]


class Access(NamedTuple):
    """What an instruction does to a storage: `read`, `write` or `free`; of a message by its end."""

    rank: int
    position: int
    end: int
    storage: str
    does: str
    value: str

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.rank, self.position


class Overlap(NamedTuple):
    """An access of a message, and one that stands behind it, at least one of which is no read."""

    first: Access
    second: Access


class Seen(NamedTuple):
    """What the interleavings show.

    Attributes:
        result: All that is reachable, None where there are too many states.
        started: The last position of each rank that starts in some interleaving.
        beside: For each end the last position of its rank that starts while it is open.
    """

    result: Result | None
    started: tuple[int, ...]
    beside: tuple[int, ...]

    def reaches(self, access: Access) -> bool:
        """Whether an access ever starts."""
        return access.position <= self.started[access.rank]

    def meet(self, overlap: Overlap) -> bool:
        """Whether both are in progress at the same time, or in the wrong order, in some run."""
        return overlap.second.position <= self.beside[overlap.first.end]


def seen(programs: Programs, transport: Transport, limit: int, ends: set[int]) -> Seen:
    """Look at every interleaving, and at those that hold `ends` open as long as they can.

    The second is all there is to it where states are too many. Where they are not, and no message
    is on a weak communicator, both must say the same.
    """
    machine = Machine(programs, transport)
    beside = [machine.ends[n].position for n in range(len(machine.ends))]
    started = [-1] * len(programs)

    def watch(state: State) -> None:
        taken, complete = state
        posted = machine.posted_in(taken)
        last = [_last(machine, rank, count) for rank, count in enumerate(taken)]
        started[:] = map(max, started, last)
        for end in ends:
            if posted >> end & 1 and not complete >> end & 1:
                beside[end] = max(beside[end], last[machine.ends[end].rank])

    try:
        result = explore(programs, transport, limit, watch)
    except TooManyStatesError:
        result = None
        watch(_furthest(machine, 0))
    if machine.weak:
        return Seen(result, tuple(started), tuple(beside))
    for end in ends:
        held = _last(machine, machine.ends[end].rank, _held(machine, end))
        assert result is None or beside[end] == max(held, machine.ends[end].position), end
        beside[end] = max(beside[end], held)
    return Seen(result, tuple(started), tuple(beside))


def _last(machine: Machine, rank: int, count: int) -> int:
    """The last position of a rank that has started after some steps."""
    return machine.steps[rank][count - 1].position if count else -1


def _held(machine: Machine, end: int) -> int:
    """How many steps its rank can take while an end is not complete."""
    return _furthest(machine, 1 << end)[0][machine.ends[end].rank]


def _furthest(machine: Machine, forbidden: int) -> State:
    """A state in which nothing more can happen while some ends may not complete."""
    taken, complete = machine.initial()
    while True:
        before = taken, complete
        for rank in range(len(taken)):
            while machine.may_go_on(rank, taken, complete):
                taken = (*taken[:rank], taken[rank] + 1, *taken[rank + 1 :])
        for more in machine.moves(taken, complete):
            complete |= 0 if more & forbidden else more
        if (taken, complete) == before:
            return before


def conflicts(found: list[Access]) -> list[Overlap]:
    """What may be an overlap: the accesses of a message, and those behind each on its storage."""
    open_ = [each for each in found if each.end >= 0 and each.does != "free"]
    return [
        Overlap(first, second)
        for first in open_
        for second in found
        if (second.rank, second.storage) == (first.rank, first.storage)
        and second.position >= first.position
        and second is not first
        and {first.does, second.does} != {"read"}
        and (second.position > first.position or second.does == "write")
    ]


def accesses(programs: Programs, stages: int) -> list[Access]:
    """Every access of storage that has a name."""
    found: list[Access] = []
    end = 0
    operations = (each.op for program in programs for each in program if isinstance(each, Compute))
    parts = (OPERATION.fullmatch(operation) for operation in operations)
    losses = frozenset(part[3] for part in parts if part and part[2] == "L")
    for rank, program in enumerate(programs):
        writer = _Rank(rank, stages, end, losses)
        for position, instruction in enumerate(program):
            writer.add(position, instruction)
        found += writer.found
        end = writer.end
    return found


class _Rank:
    """The accesses of one rank, in program order."""

    def __init__(self, rank: int, stages: int, end: int, losses: frozenset[str]) -> None:
        self.rank, self.stages, self.end, self.losses = rank, stages, end, losses
        self.where: dict[str, str] = {}
        self.found: list[Access] = []

    def add(self, position: int, instruction: Instruction) -> None:
        match instruction:
            case Message() | Bracket():
                listed = list(enumerate(messages(instruction), self.end))
                self.end += len(listed)
                for sends in (True, False):  # in one bracket reads come before writes
                    for number, message in listed:
                        if message.send == sends:
                            does = self.read if sends else self.put
                            does(position, message.value, message.buf, number)
            case Compute():
                for part in _members(instruction):
                    self.operation(position, *part)
            case _:
                pass

    def read(self, position: int, value: str, named: str, end: int = -1) -> str:
        storage = named or self.where.get(value, "")
        self._note(position, end, storage, "read", value)
        return storage

    def put(self, position: int, value: str, named: str, end: int = -1) -> str:
        self.where[value] = named
        self._note(position, end, named, "write", value)
        return named

    def _note(self, position: int, end: int, storage: str, does: str, value: str) -> None:
        if storage:
            self.found.append(Access(self.rank, position, end, storage, does, value))

    def operation(self, position: int, head: str, said: dict[str, str]) -> None:
        kind, *rest = head.split()
        match kind:
            case "FREE":
                self._note(position, -1, rest[0], "free", "")
            case "WRITE":
                self.put(position, rest[1], rest[0])
            case "USE":
                self.read(position, rest[1], rest[0])
            case "LOAD":
                self.put(position, rest[0], said.get("buf", ""))
            case _:
                found = OPERATION.fullmatch(head)
                if found and found[3]:
                    self._computes(position, (int(found[1]), found[2], found[3]), said)

    def _computes(self, position: int, what: tuple[int, str, str], said: dict[str, str]) -> None:
        stage, kind, m = what
        kept = f"K{stage}.{m}"
        source = f"L.{m}" if stage == self.stages - 1 else f"B{stage + 1}.{m}"
        match kind:
            case "F":
                self._forward(position, stage, m, said)
            case "L":
                self.read(position, f"F{self.stages - 1}.{m}", said.get("in", ""))
                self.read(position, f"Y.{m}", said.get("label", ""))
                self.put(position, f"L.{m}", said.get("out", ""))
            case "B" | "I":
                self.read(position, kept, "")
                self.read(position, source, said.get("gin", ""))
                self.put(position, f"B{stage}.{m}", said.get("gout", ""))
            case "W":
                self.read(position, kept, "")
                if "gin" in said:
                    self.read(position, source, said["gin"])
                if "gout" in said:
                    self._note(position, -1, said["gout"], "write", f"W{stage}.{m}")
            case _:
                self.read(position, kept, "")

    def _forward(self, position: int, stage: int, m: str, said: dict[str, str]) -> None:
        source = f"F{stage - 1}.{m}" if stage else f"X.{m}"
        taken = self.read(position, source, said.get("in", ""))
        if "aux" in said:
            self.read(position, f"A.{m}", said["aux"])
        left = self.put(position, f"F{stage}.{m}", said.get("out", ""))
        if stage == self.stages - 1 and m not in self.losses:
            self.put(position, f"L.{m}", "")  # it computes the loss
        keep = said.get("keep", "")
        if keep in (taken, left, said.get("aux")):  # what is there at the end is what it kept
            self.where[f"K{stage}.{m}"] = keep
        else:
            self.put(position, f"K{stage}.{m}", keep)


def _members(instruction: Compute) -> Iterator[tuple[str, dict[str, str]]]:
    """The members of an operation in their order, with their attributes."""
    if not instruction.op.startswith("("):
        yield instruction.op, dict(instruction.said)
        return
    for part in instruction.op[1 : instruction.op.rindex(")")].split(";"):
        head, *rest = part.split()
        yield head, {key: value for word in rest for key, value in [word.split("=")]}
