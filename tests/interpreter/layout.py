"""A schedule laid out as agents: what each rank and each message end waits for, reads, writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.interpreter.accesses import RankStorage, Touch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec

ReadKey = tuple[int, str, str, int]  # rank, identity, value, ordinal


@dataclass(slots=True)
class Agent:
    """A rank, or one end of a message, as a reader and writer of storage."""

    number: int
    rank: int
    touch: Touch
    reads: list[tuple[ReadKey, str, int]] = field(default_factory=list)


@dataclass(slots=True)
class Stage:
    """One instruction as the machine takes it.

    Attributes:
        needs: The ends that are complete before it starts.
        posts: The ends that it posts.
        joins: The entries (rank, position) that must have started before it ends.
        holds: The ends that are complete before it ends.
    """

    agent: Agent
    needs: int = 0
    posts: int = 0
    holds: int = 0
    joins: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class End:
    """One end of a message.

    Attributes:
        until: The position at which its rank waits for it.
        quiet: Nobody else uses its storage meanwhile, so when it completes is all one.
    """

    agent: Agent
    position: int
    message: Instruction
    partner: int = -1
    until: int = -1
    quiet: bool = False


class Layout:
    """A schedule as agents and what they wait for."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.ranks = [RankStorage(spec, rank) for rank in range(len(spec.programs))]
        self.index: list[dict[str, int]] = []
        self.agents: list[Agent] = []
        self.ends: list[End] = []
        self.steps: list[list[Stage]] = []
        for rank in range(len(spec.programs)):
            self._lay_out(rank)
        self._pair()
        self._join()
        self._silence()

    def _lay_out(self, rank: int) -> None:
        storage, program = self.ranks[rank], self.spec.programs[rank]
        touched = [touch for touches in storage.touches for touch in touches]
        names = dict.fromkeys(name for touch in touched for name in _names(touch))
        self.index.append({name: number for number, name in enumerate(names)})
        counts: Counter[tuple[str, str]] = Counter()
        steps: list[Stage] = []
        for position, step in enumerate(program):
            own = Touch() if step.messages else storage.touches[position][0]
            stage = Stage(self._agent(rank, own, step, counts))
            for message, touch in zip(step.messages, storage.touches[position], strict=False):
                stage.posts |= 1 << len(self.ends)
                agent = self._agent(rank, touch, message, counts)
                self.ends.append(End(agent, position, message))
            steps.append(stage)
        self.steps.append(steps)
        self._waits(rank)

    def _agent(
        self, rank: int, touch: Touch, step: Instruction, counts: Counter[tuple[str, str]]
    ) -> Agent:
        agent = Agent(len(self.agents), rank, touch)
        for value, storage in touch.reads:
            turn = counts[step.identity, value]
            counts[step.identity, value] += 1
            cell = self.index[rank][storage]
            agent.reads.append(((rank, step.identity, value, turn), value, cell))
        self.agents.append(agent)
        return agent

    def _waits(self, rank: int) -> None:
        """Lays down what each instruction of a rank waits for."""
        open_under: dict[str, int] = defaultdict(int)
        unread: dict[int, str] = {}
        program, blocking = self.spec.programs[rank], self.spec.transport.wait == "blocking"
        for step, stage in zip(program, self.steps[rank], strict=True):
            if step.kind == "WAIT":
                stage.needs |= open_under.pop(step.name, 0)
            if self.spec.transport.wait == "at-use":
                self._at_use(step, stage, unread)
            if handle := step.get("h"):
                open_under[handle] |= stage.posts
            elif blocking:
                stage.holds |= stage.posts
            else:
                unread |= {n: self._read_as(n) for n in bits(stage.posts)}

    def _read_as(self, number: int) -> str:
        message = self.ends[number].message
        return message.value if message.kind == "RECV" else ""

    def _at_use(self, step: Instruction, stage: Stage, unread: dict[int, str]) -> None:
        """Lays down the messages that an instruction waits for because it reads them."""
        touches = [stage.agent.touch, *(self.ends[n].agent.touch for n in bits(stage.posts))]
        read = {value for touch in touches for value, _ in touch.reads}
        closing = step.kind in ("STEP", "SKIP")
        for number, value in list(unread.items()):
            if closing or value in read:
                stage.needs |= 1 << number
                del unread[number]

    def _pair(self) -> None:
        waiting: dict[tuple[int, int, str], list[int]] = defaultdict(list)
        for number, end in enumerate(self.ends):
            if end.message.kind == "SEND":
                waiting[end.agent.rank, end.message.peer, end.message.get("comm")].append(number)
        for number, end in enumerate(self.ends):
            if end.message.kind == "RECV":
                channel = waiting[end.message.peer, end.agent.rank, end.message.get("comm")]
                if channel:
                    end.partner = channel.pop(0)
                    self.ends[end.partner].partner = number

    def _join(self) -> None:
        """Joins the TIEs of stages that share a parameter, the n-th of each."""
        for group in self.spec.tied:
            entries = [
                [
                    (self.spec.placement[stage], position)
                    for position, step in enumerate(self.spec.of_stage(stage))
                    if step.kind == "TIE" and step.stage == stage
                ]
                for stage in group
            ]
            for turn in range(max(map(len, entries))):
                met = [listed[turn] if turn < len(listed) else (-1, -1) for listed in entries]
                for rank, position in met:
                    if rank >= 0 and not self.spec.programs[rank][position].get("h"):
                        self.steps[rank][position].joins = met

    def _silence(self) -> None:
        """Finds the ends whose moment of completion nobody can see."""
        for number, end in enumerate(self.ends):
            steps = self.steps[end.agent.rank]
            waiting = (
                position
                for position, step in enumerate(steps)
                if position >= end.position and (step.needs | step.holds) >> number & 1
            )
            end.until = next(waiting, len(steps))
        for end in self.ends:
            steps = self.steps[end.agent.rank]
            near = [step.agent for step in steps[end.position + 1 : end.until]]
            near += [
                other.agent
                for other in self.ends
                if other is not end
                and other.agent.rank == end.agent.rank
                and other.position < max(end.until, end.position + 1)
                and end.position < max(other.until, other.position + 1)
            ]
            end.quiet = not any(_clash(end.agent.touch, agent.touch) for agent in near)


def _clash(one: Touch, other: Touch) -> bool:
    """Whether one of two puts something where the other reads or writes."""

    def written(touch: Touch) -> set[str]:
        return {*touch.writes, *touch.frees, *(name for name, _ in touch.tags)}

    def used(touch: Touch) -> set[str]:
        return written(touch) | {name for _, name in touch.reads}

    return bool(written(one) & used(other) or written(other) & used(one))


def bits(mask: int) -> Iterator[int]:
    return (number for number in range(mask.bit_length()) if mask >> number & 1)


def _names(touch: Touch) -> Iterator[str]:
    yield from (storage for _, storage in touch.reads)
    yield from touch.writes
    yield from touch.frees
