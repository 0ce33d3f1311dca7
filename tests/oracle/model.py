"""Message-passing programs under a transport, laid out as the steps of a state machine.

A rank is a list of steps. A message has two ends, numbered over all ranks; a send end is
complete when the message has drained, a receive end when it has arrived. A state is the number
of steps that each rank has taken and the set of complete ends, kept as a bit mask.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.oracle.instructions import (
    NAMED,
    Await,
    Bracket,
    Collective,
    Instruction,
    Message,
    Programs,
    Signal,
    Transport,
    Wait,
    ends_step,
    messages,
    reads,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

State = tuple[tuple[int, ...], int]
Place = tuple[int, int]


@dataclass(frozen=True)
class End:
    """One end of a message, where it is posted and by which queue it is held."""

    rank: int
    position: int
    message: Message
    queue: tuple[object, ...] | None

    @property
    def spot(self) -> Place:
        """Where it is posted."""
        return self.rank, self.position

    @property
    def channel(self) -> tuple[int, int, str]:
        """Sender, receiver and communicator."""
        rank, peer = self.rank, self.message.peer
        return (*((rank, peer) if self.message.send else (peer, rank)), self.message.comm)


class Need(NamedTuple):
    """An instruction of another rank that must have started; position -1 never does."""

    rank: int
    position: int
    entry: int = -1  # the position of the own collective, where it is waited for by a handle


@dataclass
class Step:
    """One step of a rank, with what must be there before it is taken."""

    position: int
    begun: bool = False  # while the rank stands here, has the instruction started?
    ends: int = 0
    needs: list[Need] = field(default_factory=list)
    posts: int = 0
    comms: frozenset[str] = frozenset()  # the communicators on whose messages it waits


def place(rank: int, position: int) -> str:
    """A place as it is written."""
    return f"r{rank}.{position}"


def _queue(kind: object, rank: int, message: Message) -> tuple[object, ...] | None:
    """The queue of its own rank that an end stands in."""
    backward = message.value[0] == "B" and message.value[1:].replace(".", "").isdigit()
    keys: dict[object, tuple[object, ...] | None] = {
        "none": None,
        "edge": (message.send, message.peer, message.comm),
        "direction": (backward, message.comm),
        "pair": (message.peer, message.comm),
        "rank": (),
    }
    return keys[kind]


class Model:
    """Programs under one transport, ready to run."""

    def __init__(self, programs: Programs, transport: Transport) -> None:
        rules: Mapping[str, object] = NAMED[transport] if isinstance(transport, str) else transport
        self.programs = programs
        self.atomic = rules["groups"] == "atomic"
        self.buffered = rules["completion"] == "buffered" and not self.atomic
        capacity = rules.get("capacity") if self.buffered else None
        self.capacity = capacity if isinstance(capacity, int) else None
        self.wait = rules["wait"]
        self.lazy = rules.get("communicators") == "lazy"
        self.ends = [
            End(rank, position, message, _queue(rules["queue"], rank, message))
            for rank, program in enumerate(programs)
            for position, instruction in enumerate(program)
            for message in messages(instruction)
        ]
        self.at: dict[Place, list[int]] = defaultdict(list)
        for number, end in enumerate(self.ends):
            self.at[end.spot].append(number)
        self.partner = self._pair(by_value=rules.get("match", "order") == "tag")
        self.before = [self._before(number) for number in range(len(self.ends))]
        self.earlier = [self._earlier(number) for number in range(len(self.ends))]
        listed = rules.get("weak") or ()
        names = {str(name) for name in listed} if isinstance(listed, list | tuple) else set()
        self.weak = self._mask(n for n, end in enumerate(self.ends) if end.message.comm in names)
        self.all = (1 << len(self.ends)) - 1
        self.entries = self._collectives()
        self._signals = self._calls(Signal)
        self._first = self._first_calls()
        self.steps = [self._compile(rank) for rank in range(len(programs))]
        self.start = [self._starts(steps) for steps in self.steps]
        self.posted = [self._posted(steps) for steps in self.steps]

    @staticmethod
    def _mask(numbers: Iterator[int]) -> int:
        return sum(1 << number for number in numbers)

    def _pair(self, *, by_value: bool) -> list[int]:
        """The partner of each end, -1 where there is none: the n-th send with the n-th receive."""
        waiting: dict[object, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for number, end in enumerate(self.ends):
            key = (end.channel, end.message.value if by_value else None)
            waiting[key][not end.message.send].append(number)
        partner = [-1] * len(self.ends)
        for sends, receives in waiting.values():
            for one, other in zip(sends, receives, strict=False):
                partner[one], partner[other] = other, one
        return partner

    def _before(self, number: int) -> int:
        """The ends posted before this one in its queue; not those of its group or its message."""
        end = self.ends[number]
        if end.queue is None:
            return 0
        return self._mask(
            n
            for n, other in enumerate(self.ends)
            if other.rank == end.rank and other.queue == end.queue and other.position < end.position
            if n != self.partner[number]
        )

    def _earlier(self, number: int) -> list[int]:
        """The sends in front of a send on its channel, in the order in which credits go out."""
        channel = self.ends[number].channel
        return [
            other
            for other in range(number)
            if self.ends[other].message.send and self.ends[other].channel == channel
        ]

    def _calls(self, kind: type[Signal]) -> dict[Place, list[int]]:
        """Positions of the signals from one rank to another."""
        found: dict[Place, list[int]] = defaultdict(list)
        for rank, program in enumerate(self.programs):
            for position, instruction in enumerate(program):
                if isinstance(instruction, kind):
                    found[rank, instruction.to].append(position)
        return found

    def _collectives(self) -> dict[Collective, dict[int, list[int]]]:
        """Positions of the entries into each collective, by rank, in order."""
        found: dict[Collective, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for rank, program in enumerate(self.programs):
            for position, instruction in enumerate(program):
                if isinstance(instruction, Collective):
                    found[_plain(instruction)][rank].append(position)
        return found

    def _first_calls(self) -> dict[tuple[int, int, str], int]:
        """The position of a rank's first message call with another on a communicator."""
        first: dict[tuple[int, int, str], int] = {}
        for end in self.ends:
            first.setdefault((end.rank, end.message.peer, end.message.comm), end.position)
        return first

    def _due(self, rank: int) -> dict[int, int]:
        """By position, the ends that must be complete before (`at-use`): at a reader or a STEP."""
        program, due = self.programs[rank], defaultdict[int, int](int)
        for number, end in enumerate(self.ends):
            if end.rank != rank or self._handle(end) or self.wait != "at-use":
                continue
            rest = range(end.position + 1, len(program))
            value = end.message.value
            readers = (p for p in rest if not end.message.send and value in reads(program[p]))
            closing = next((p for p in rest if ends_step(program[p])), len(program))
            due[min(next(readers, closing), closing)] |= 1 << number
        return due

    def _handle(self, end: End) -> str:
        instruction = self.programs[end.rank][end.position]
        return instruction.handle if isinstance(instruction, Message | Bracket) else ""

    def _compile(self, rank: int) -> list[Step]:
        due, steps = self._due(rank), list[Step]()
        program = self.programs[rank]
        for position, instruction in enumerate(program):
            first = Step(position, ends=due[position], comms=self._comms(due[position]))
            steps.append(first)
            if isinstance(instruction, Wait):
                self._wait_step(rank, instruction, first)
            elif isinstance(instruction, Await):
                first.begun, first.needs = True, [self._signal(rank, position, instruction)]
            elif isinstance(instruction, Collective):
                if not instruction.handle:
                    steps.append(Step(position, begun=True, needs=self._others(rank, position)))
            else:
                first.posts = self._mask(iter(self.at[rank, position]))
                steps += self._return_step(rank, position, instruction)
        if due[len(program)]:
            end = due[len(program)]
            steps.append(Step(len(program), ends=end, comms=self._comms(end)))
        return steps

    def _comms(self, ends: int) -> frozenset[str]:
        return frozenset(end.message.comm for n, end in enumerate(self.ends) if ends >> n & 1)

    def _return_step(self, rank: int, position: int, instruction: Instruction) -> list[Step]:
        """The return of a message call, where anything can hold it up."""
        numbers = self.at[rank, position]
        step = Step(
            position, begun=True, comms=frozenset(self.ends[n].message.comm for n in numbers)
        )
        if numbers and self.wait == "blocking" and not self._handle(self.ends[numbers[0]]):
            step.ends = self._mask(iter(numbers))
        if self.lazy:
            called = {(m.peer, m.comm) for m in messages(instruction)}
            step.needs = [
                Need(peer, self._first.get((peer, rank, comm), -1))
                for peer, comm in sorted(called)
                if self._first[rank, peer, comm] == position
            ]
        return [step] if step.ends or step.needs else []

    def _wait_step(self, rank: int, wait: Wait, step: Step) -> None:
        """What was started under the handle since the last wait for it."""
        step.begun = True
        program = self.programs[rank]
        for position in range(step.position - 1, -1, -1):
            instruction = program[position]
            if instruction == wait:
                break
            if getattr(instruction, "handle", "") != wait.handle:
                continue
            step.ends |= self._mask(iter(self.at[rank, position]))
            if isinstance(instruction, Collective):
                others = self._others(rank, position)
                step.needs += [need._replace(entry=position) for need in others]
        step.comms = self._comms(step.ends)

    def _signal(self, rank: int, position: int, instruction: Await) -> Need:
        turn = self.programs[rank][:position].count(instruction)
        sent = self._signals[instruction.source, rank]
        return Need(instruction.source, sent[turn] if turn < len(sent) else -1)

    def _others(self, rank: int, position: int) -> list[Need]:
        """The entries of the other ranks into the collective that is entered here."""
        instruction = self.programs[rank][position]
        assert isinstance(instruction, Collective)
        entries = self.entries[_plain(instruction)]
        turn = entries[rank].index(position)
        return [
            Need(other, entries[other][turn] if turn < len(entries[other]) else -1)
            for other in instruction.ranks
            if other != rank
        ]

    @staticmethod
    def _starts(steps: list[Step]) -> dict[int, int]:
        """How many steps a rank has taken at least when an instruction has started."""
        start: dict[int, int] = {}
        for number, step in enumerate(steps):
            start.setdefault(step.position, number + 1)
        return start

    @staticmethod
    def _posted(steps: list[Step]) -> list[int]:
        masks = [0]
        for step in steps:
            masks.append(masks[-1] | step.posts)
        return masks


def _plain(collective: Collective) -> Collective:
    """A collective as its entries on all ranks share it."""
    return Collective(collective.name, tuple(sorted(collective.ranks)), collective.comm)
