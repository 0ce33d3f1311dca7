"""The state machine with a step for every start and every end, so that events can be named.

The machine of `tests/oracle` lets an instruction that waits for nothing start and end at once. Here
each instruction has two steps, and atomic brackets move one message after the other, so that two
events are ordered only where section 3 orders them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from tests.oracle.instructions import NAMED, Collective, Programs, Transport, messages, reads
from tests.oracle.machine import TooManyStatesError
from tests.oracle.model import Need, Place, State, Step
from tests.oracle.motion import Machine

__all__ = ["Kinds", "Moments", "Reached", "Reader", "reached", "readers"]

Kinds = Mapping[str, tuple[str, int]]
"""The kind (`from`, `to`) and the root of collectives by name; others are `all`."""


class Moments(Machine):
    """Programs under one transport, a step for every event of a rank."""

    def __init__(
        self, programs: Programs, transport: Transport, kinds: Kinds | None = None
    ) -> None:
        self.kinds: Kinds = kinds or {}
        super().__init__(programs, transport)
        self.steps = [self._apart(rank) for rank in range(len(programs))]
        self.start = [self._starts(steps) for steps in self.steps]
        self.posted = [self._posted(steps) for steps in self.steps]
        rules = NAMED[transport] if isinstance(transport, str) else transport
        if rules["completion"] == "rendezvous":
            self.before = [self._both_ends(mask) for mask in self.before]
        self.set_of = self._sets()
        self.offsets = [sum(map(len, programs[:rank])) for rank in range(len(programs) + 1)]
        self.messages = [
            n for n, end in enumerate(self.ends) if end.message.send and self.partner[n] >= 0
        ]
        self.lone = self._mask(n for n, partner in enumerate(self.partner) if partner < 0)

    def _apart(self, rank: int) -> list[Step]:
        """The steps of a rank, two for each instruction and one for the end of its program."""
        own = self.steps[rank]
        found: list[Step] = []
        for position in range(len(self.programs[rank])):
            there = [step for step in own if step.position == position]
            begun = [step for step in there if step.begun]
            first = [step for step in there if not step.begun]
            found.append(first[0] if first else Step(position))
            found.append(begun[0] if begun else Step(position, begun=True))
        last = [step for step in own if step.position == len(self.programs[rank])]
        return [*found, last[0] if last else Step(len(self.programs[rank]))]

    def _both_ends(self, mask: int) -> int:
        """Ends of messages, and the other ends of these: they leave their queues together."""
        ends = [n for n in range(len(self.ends)) if mask >> n & 1]
        return mask | self._mask(iter({self.partner[n] for n in ends if self.partner[n] >= 0}))

    def _others(self, rank: int, position: int) -> list[Need]:
        """The entries that the kind of a collective makes a rank wait for."""
        needs = super()._others(rank, position)
        instruction = self.programs[rank][position]
        assert isinstance(instruction, Collective)
        kind, root = self.kinds.get(instruction.name, ("all", 0))
        if kind == "from":
            return [need for need in needs if need.rank == root]
        return needs if kind == "all" or rank == root else []

    def _sets(self) -> dict[Place, Place]:
        """The calls that messages link, directly or not, each by the first of them."""
        found = {spot: spot for spot in self.at if self.at[spot]}
        for _ in found:
            for number, partner in enumerate(self.partner):
                if partner >= 0:
                    spots = self.ends[number].spot, self.ends[partner].spot
                    low = min(found[spot] for spot in spots)
                    found[spots[0]] = found[spots[1]] = low
        return found

    def _moves(self, taken: tuple[int, ...], complete: int, allowed: int) -> Iterator[int]:
        """What the complete ends may become; of an atomic set one message after the other."""
        if not self.atomic:
            yield from super()._moves(taken, complete, allowed)
            return
        posted = self.posted_in(taken)
        sends = [n for n, end in enumerate(self.ends) if end.message.send]
        moving = {self.set_of[self.ends[n].spot] for n in sends if complete >> n & 1}
        free = self._together(posted, complete, allowed)
        for number, end in enumerate(self.ends):
            if complete >> number & 1 or not (posted & allowed) >> number & 1:
                continue
            if not end.message.send:
                if self._may_complete(number, posted, complete):
                    yield complete | 1 << number
            elif free >> number & 1 or self.set_of[end.spot] in moving:
                yield complete | 1 << number

    # the events of certificates

    @property
    def program_events(self) -> int:
        """How many events are not of messages."""
        return 2 * self.offsets[-1] + len(self.programs)

    @property
    def events(self) -> int:
        """How many events there are."""
        return self.program_events + 2 * len(self.messages)

    def rank_of(self, event: int) -> int:
        """The rank whose program an event is of, -1 for one of a message."""
        if event >= self.program_events:
            return -1
        if event >= 2 * self.offsets[-1]:
            return event - 2 * self.offsets[-1]
        return max(r for r in range(len(self.programs)) if 2 * self.offsets[r] <= event)

    def begins(self, rank: int, position: int) -> int:
        """The event at which an instruction starts."""
        return 2 * (self.offsets[rank] + position)

    def completes(self, end: int) -> int:
        """The event at which an end that has a partner is complete."""
        send = self.ends[end].message.send
        number = self.messages.index(end if send else self.partner[end])
        return self.program_events + 2 * number + (not send)

    @cached_property
    def _marks(self) -> list[tuple[int, int]]:
        """For each event a rank and how many steps it has taken then, or -1 and an end."""
        ranks = range(len(self.programs))
        inner = [(r, n + 1) for r in ranks for n in range(len(self.steps[r]) - 1)]
        last = [(r, len(self.steps[r])) for r in ranks]
        moved = [(-1, end) for send in self.messages for end in (send, self.partner[send])]
        return [*inner, *last, *moved]

    def happened(self, state: State, event: int) -> bool:
        """Whether an event has happened."""
        rank, count = self._marks[event]
        return state[0][rank] >= count if rank >= 0 else bool(state[1] >> count & 1)

    def after(self, state: State, event: int) -> State | None:
        """The state after an event, None where it cannot happen."""
        rank, count = self._marks[event]
        taken, complete = state
        if rank < 0:
            target = taken, complete | 1 << count
        elif taken[rank] != count - 1:
            return None
        else:
            target = (*taken[:rank], count, *taken[rank + 1 :]), complete
        return target if target != state and target in self.successors(state) else None

    def onward(self, state: State) -> list[State]:
        """The states one event further; ends without a partner have no events."""
        return [other for other in self.successors(state) if not (other[1] & self.lone)]


class Reached(NamedTuple):
    """All states, and whether a rank is not at its end in one in which nothing can happen."""

    model: Moments
    states: frozenset[State]
    stuck: bool

    def ordered(self, before: int, after: int) -> bool:
        """Whether one event has happened wherever another one has."""
        model = self.model
        return all(model.happened(s, before) for s in self.states if model.happened(s, after))


def reached(model: Moments, limit: int) -> Reached:
    """Visits every state.

    Raises:
        TooManyStatesError: There are more than `limit`.
    """
    todo = [model.initial()]
    seen, stuck = set(todo), False
    while todo:
        state = todo.pop()
        following = model.onward(state)
        stuck = stuck or (not following and model.hangs(state))
        for other in following:
            if other not in seen:
                seen.add(other)
                todo.append(other)
        if len(seen) > limit:
            raise TooManyStatesError(limit)
    return Reached(model, frozenset(seen), stuck)


class Reader(NamedTuple):
    """An instruction that reads a value, and the end of the message that brings it (-1: none)."""

    rank: int
    position: int
    end: int
    sends: bool


def readers(model: Moments) -> Iterator[Reader]:
    """Who reads what a receive brings: the last one before it on its rank."""
    for rank, program in enumerate(model.programs):
        for position, instruction in enumerate(program):
            for value in sorted(reads(instruction)):
                source = _source(model, rank, position, value)
                if source >= 0:
                    yield Reader(rank, position, source, sends=bool(messages(instruction)))


def _source(model: Moments, rank: int, position: int, value: str) -> int:
    program = model.programs[rank]
    for before in range(position - 1, -1, -1):
        ends = [n for n in model.at.get((rank, before), []) if not model.ends[n].message.send]
        found = [n for n in ends if model.ends[n].message.value == value]
        if found:
            return found[-1]
        if _makes(program[before], value):
            return -1
    return -1


def _makes(instruction: object, value: str) -> bool:
    op = getattr(instruction, "op", "")
    letter, _, rest = value[0], value[0], value[1:]
    return op == rest.replace(".", letter) if letter in "FB" else False
