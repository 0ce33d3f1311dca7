"""Every interleaving of programs in which something goes wrong, and what becomes of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.oracle.instructions import NAMED, Await, Collective, Compute, Wait
from tests.oracle.machine import TooManyStatesError
from tests.oracle.model import Need, State, Step, place
from tests.oracle.motion import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.instructions import Programs, Transport

__all__ = ["Fault", "Faulty", "outcome"]


@dataclass(frozen=True)
class Fault:
    """A fault: of a rank that starts nothing from `at` on, or of the instruction or end there.

    `kind` is missing, stops, delayed, dropped, duplicated or corrupted. `member` is the place of
    the message within its instruction.
    """

    kind: str
    rank: int
    at: int = 0
    member: int = 0


@dataclass
class Broken:
    """What breaks a policy: places by code; `late` where a STEP completes after the fault."""

    late: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    divided: set[frozenset[str]] = field(default_factory=set)
    untaken: set[frozenset[str]] = field(default_factory=set)


class Faulty(Machine):
    """Programs under a transport, with faults that happen in every run."""

    def __init__(
        self, programs: Programs, transport: Transport, faults: tuple[Fault, ...] = ()
    ) -> None:
        super().__init__(programs, transport)
        rules = NAMED[transport] if isinstance(transport, str) else transport
        self.by_value = rules.get("match", "order") == "tag"
        self.faults = faults
        self.faulty = {each.rank for each in faults if each.kind in ("missing", "stops")}
        self.copies: dict[int, int] = {}
        for each in faults:
            if each.kind == "duplicated":
                self._duplicate(self.number(each))
        lost = [self.partner[self.number(e)] for e in faults if e.kind == "dropped"]
        self.lost = {number for number in lost if number >= 0}

    def number(self, fault: Fault) -> int:
        """The send end of a message that is at fault."""
        return self.at[fault.rank, fault.at][fault.member]

    def _duplicate(self, original: int) -> None:
        """Put a copy behind a message; the receives of the channel move up by one."""
        key = self._key(original)
        sends = [n for n, e in enumerate(self.ends) if e.message.send and self._key(n) == key]
        receives = [
            n for n, e in enumerate(self.ends) if not e.message.send and self._key(n) == key
        ]
        copy = len(self.ends)
        line = [n for send in sends for n in ((send, copy) if send == original else (send,))]
        if line.index(copy) >= len(receives):
            return
        self.ends.append(self.ends[original])
        self.partner.append(-1)
        self.before.append(1 << original)
        self.earlier.append([])
        self.copies[copy] = original
        self.all |= 1 << copy
        self.weak |= (self.weak >> original & 1) << copy
        for number in (*sends, *receives):
            self.partner[number] = -1
        for send, receive in zip(line, receives, strict=False):
            self.partner[send], self.partner[receive] = receive, send

    def _key(self, number: int) -> object:
        end = self.ends[number]
        return end.channel, end.message.value if self.by_value else None

    def posted_in(self, taken: tuple[int, ...]) -> int:
        posted = super().posted_in(taken)
        for copy, original in self.copies.items():
            posted |= (posted >> original & 1) << copy
        return posted

    def _may_complete(self, number: int, posted: int, complete: int) -> bool:
        return number not in self.lost and super()._may_complete(number, posted, complete)

    def successors(self, state: State) -> list[State]:
        """All states one step further: nothing of a rank that has stopped."""
        taken, complete = state
        limits = self._limits()
        found = []
        for other in super().successors(state):
            moved = [r for r, (a, b) in enumerate(zip(taken, other[0], strict=True)) if a != b]
            if any(self._begins(r, taken[r]) >= limits.get(r, 10**9) for r in moved):
                continue
            found.append(other)
        if not found and self.weak and (more := self._weak_moment(taken, complete)) != complete:
            found.append((taken, more))
        return found

    def _limits(self) -> dict[int, int]:
        """The first position at which each faulty rank starts nothing."""
        return {f.rank: 0 if f.kind == "missing" else f.at for f in self.faults_of_ranks()}

    def stands(self, taken: tuple[int, ...], rank: int, comm: str) -> bool:
        """A rank that has stopped before an instruction does not stand in it."""
        steps, limit = self.steps[rank], self._limits().get(rank)
        stopped = limit is not None and any(s.position >= limit for s in steps[taken[rank] :][:1])
        return not stopped and super().stands(taken, rank, comm)

    def faults_of_ranks(self) -> Iterator[Fault]:
        """The faults of ranks; of several of one rank that which comes first."""
        for rank in self.faulty:
            own = [f for f in self.faults if f.rank == rank and f.kind in ("missing", "stops")]
            yield min(own, key=lambda f: 0 if f.kind == "missing" else f.at)

    def _begins(self, rank: int, step: int) -> int:
        """The instruction that a step of a rank is of, -1 for one that has started before it."""
        here = self.steps[rank][step]
        first = all(each.position != here.position for each in self.steps[rank][:step])
        return here.position if first else -1

    def happened(self, fault: Fault, state: State) -> bool:
        """Whether a fault has happened."""
        taken, complete = state
        if fault.kind == "missing" or (fault.kind == "stops" and fault.at == 0):
            return True
        steps = self.steps[fault.rank]
        if fault.kind == "stops":
            return all(step.position >= fault.at for step in steps[taken[fault.rank] :])
        if isinstance(self.programs[fault.rank][fault.at], Compute):
            return taken[fault.rank] >= self.start[fault.rank][fault.at]
        return bool(complete >> self.number(fault) & 1)

    def steps_of(self) -> list[tuple[int, int]]:
        """Every STEP: rank and position."""
        return [
            (rank, position)
            for rank, program in enumerate(self.programs)
            for position, each in enumerate(program)
            if isinstance(each, Compute) and each.op.endswith("STEP")
        ]

    def took(self, state: State, step: tuple[int, int]) -> bool:
        """Whether a STEP has completed."""
        rank, position = step
        return state[0][rank] >= self.start[rank][position]

    def names(self, rank: int, state: State) -> bool:
        """Whether what a rank waits for where it stands has to do with a fault."""
        taken, complete = state
        step = self.steps[rank][taken[rank]]
        messages = {self.number(f) for f in self.faults if self._is_of_message(f)}
        messages |= {copy for copy, original in self.copies.items() if original in messages}
        messages |= {self.partner[n] for n in messages}
        open_ = step.ends & ~complete
        ends = [number for number in range(len(self.ends)) if open_ >> number & 1]
        if any(n in messages or self.ends[n].message.peer in self.faulty for n in ends):
            return True
        return any(
            self._names(rank, step, need, messages)
            for need in step.needs
            if not self.met(taken, need)
        )

    def _is_of_message(self, fault: Fault) -> bool:
        ranks = fault.kind in ("missing", "stops")
        return not ranks and not isinstance(self.programs[fault.rank][fault.at], Compute)

    def _names(self, rank: int, step: Step, need: Need, at_fault: set[int]) -> bool:
        program = self.programs[rank]
        here = program[step.position]
        if isinstance(here, Wait):
            here = program[need.entry]
        if isinstance(here, Collective):
            return bool(self.faulty.intersection(here.ranks))
        if isinstance(here, Await):
            return here.source in self.faulty
        if need.rank in self.faulty:
            return True
        return any(n in at_fault and self._asks(n, need) for n in self.at[rank, step.position])

    def _asks(self, number: int, need: Need) -> bool:
        """Whether it is for this end that a call waits for a first call of the other rank."""
        end = self.ends[number]
        first = self._first.get((end.message.peer, end.rank, end.message.comm), -1)
        return (end.message.peer, first) == (need.rank, need.position)


def _visit(machine: Faulty, limit: int) -> Iterator[tuple[State, State | None]]:
    """Yield every step from one state to another, and each last state with None."""
    todo, seen = [machine.initial()], {machine.initial()}
    while todo:
        state = todo.pop()
        following = machine.successors(state)
        if not following:
            yield state, None
        for other in following:
            yield state, other
            if other not in seen:
                seen.add(other)
                todo.append(other)
        if len(seen) > limit:
            raise TooManyStatesError(limit)


def _last(machine: Faulty) -> State:
    state = machine.initial()
    while following := machine.successors(state):
        state = following[0]
    return state


def outcome(
    programs: Programs, transport: Transport, faults: tuple[Fault, ...], limit: int = 20_000
) -> Broken:
    """What becomes of programs in which some faults happen, under any policy.

    Raises:
        TooManyStatesError: there are more states than `limit`.
    """
    machine, plain = Faulty(programs, transport, faults), Faulty(programs, transport)
    usual = _last(plain)
    found, steps = Broken(), machine.steps_of()
    for state, other in _visit(machine, limit):
        if other is None:
            _judge_last(machine, plain, usual, state, found)
            continue
        for step in steps:
            taken = machine.took(other, step) and not machine.took(state, step)
            if taken and any(machine.happened(fault, state) for fault in faults):
                found.late.add(place(*step))
    return found


def _judge_last(machine: Faulty, plain: Faulty, usual: State, state: State, found: Broken) -> None:
    for rank, steps in enumerate(machine.steps):
        ends = usual[0][rank] == len(plain.steps[rank])
        if rank in machine.faulty or state[0][rank] == len(steps) or not ends:
            continue
        where = place(rank, steps[state[0][rank]].position)
        found.waiting.add(where)
        if not machine.names(rank, state):
            found.unnamed.add(where)
    turns: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for rank, position in machine.steps_of():
        turn = sum(r == rank and p < position for r, p in machine.steps_of())
        turns[turn].append((rank, position))
    for steps_of_turn in turns.values():
        taken = {step for step in steps_of_turn if machine.took(state, step)}
        if taken and len(taken) < len(steps_of_turn):
            found.divided.add(frozenset(place(*step) for step in steps_of_turn))
        lost = [s for s in steps_of_turn if s not in taken and plain.took(usual, s)]
        if lost:
            found.untaken.add(frozenset(place(*step) for step in lost))
