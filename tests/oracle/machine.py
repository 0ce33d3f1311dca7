"""Every interleaving of message-passing programs, and the deadlocks they end in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from tests.oracle.instructions import Await, Collective, Instruction, Programs, Transport, Wait
from tests.oracle.model import Need, Place, State, Step, place
from tests.oracle.motion import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Violation = tuple[str, frozenset[str]]


class TooManyStatesError(Exception):
    """More states than the limit allows."""


@dataclass(frozen=True)
class Result:
    """What is reachable.

    Attributes:
        stuck: Nothing can happen any more somewhere, and a rank is not at its end.
        always: Every maximal run ends like that.
        final: The maximal states: steps taken by each rank, mask of the complete ends.
        mispaired: Places of paired messages (send, receive) whose values differ.
        unmatched: The place of each message end without partner.
        unsignalled: The places that await a signal which stands nowhere.
        states: How many states there are.
    """

    stuck: bool
    always: bool
    final: frozenset[State]
    mispaired: frozenset[tuple[str, str]]
    unmatched: tuple[str, ...]
    unsignalled: tuple[str, ...]
    states: int


def explore(
    programs: Programs,
    transport: Transport,
    limit: int = 100_000,
    watch: Callable[[State], None] | None = None,
) -> Result:
    """Visits every reachable state, and lets `watch` see each.

    Raises:
        TooManyStatesError: There are more than `limit`.
    """
    model = Machine(programs, transport)
    todo = [model.initial()]
    seen, final = set(todo), set[State]()
    while todo:
        state = todo.pop()
        if watch is not None:
            watch(state)
        following = model.successors(state)
        if not following:
            final.add(state)
        for other in following:
            if other not in seen:
                seen.add(other)
                todo.append(other)
        if len(seen) > limit:
            raise TooManyStatesError(limit)
    hanging = [model.hangs(state) for state in final]
    return Result(
        any(hanging),
        all(hanging),
        frozenset(final),
        frozenset(_mispaired(model)),
        tuple(model.name(n) for n, partner in enumerate(model.partner) if partner < 0),
        tuple(_unsignalled(model)),
        len(seen),
    )


def _mispaired(model: Machine) -> Iterator[tuple[str, str]]:
    for number, end in enumerate(model.ends):
        partner = model.partner[number]
        if not end.message.send or partner < 0:
            continue
        if end.message.value != model.ends[partner].message.value:
            yield model.name(number), model.name(partner)


def _unsignalled(model: Machine) -> Iterator[str]:
    for rank, steps in enumerate(model.steps):
        for step in steps:
            waits = isinstance(_instruction(model, rank, step), Await)
            if waits and any(need.position < 0 for need in step.needs):
                yield place(rank, step.position)


def _instruction(model: Machine, rank: int, step: Step) -> Instruction | None:
    """The instruction of a step; there is none at the end of a program."""
    program = model.programs[rank]
    return program[step.position] if step.position < len(program) else None


def deadlocks(programs: Programs, transport: Transport) -> list[Violation]:
    """The deadlocks, each with its code and places, and collectives that somebody never enters."""
    model = Machine(programs, transport)
    state = model.initial()
    while following := model.successors(state):
        state = following[0]
    blame = _Blame(model, state)
    found = [*blame.cycles(), *set(blame.left_behind()), *_incomplete_collectives(model)]
    return sorted(found, key=lambda violation: (violation[0], sorted(violation[1])))


def _incomplete_collectives(model: Machine) -> Iterator[Violation]:
    """Collectives that a rank never enters, at the entries of the others."""
    for collective, entries in model.entries.items():
        for turn in range(max(map(len, entries.values()))):
            there = [(r, e[turn]) for r, e in sorted(entries.items()) if turn < len(e)]
            if len(there) < len(collective.ranks):
                yield "PP205", frozenset(place(*spot) for spot in there)


class Node(NamedTuple):
    """What waits: `rank` (rank), `end` (number) or `entry` into a collective (rank, position)."""

    kind: str
    at: int
    position: int = 0


class _Blame:
    """What waits for what in a state in which nothing more can happen.

    An edge is marked when it leads out of what moves as a whole; the members of such groups
    hand on each other's waits, and a cycle among them alone is none.
    """

    def __init__(self, model: Machine, state: State) -> None:
        self.model = model
        self.taken, self.complete = state
        self.posted = model.posted_in(self.taken)
        self.edges: dict[Node, list[tuple[Node, bool]]] = {}
        self.place: dict[Node, Place | None] = {}
        for rank, steps in enumerate(model.steps):
            if self.taken[rank] < len(steps):
                self._add_rank(rank, steps[self.taken[rank]])
        for number, end in enumerate(model.ends):
            if self._is_open(number):
                node = Node("end", number)
                self.place[node] = end.spot
                self.edges[node] = [*self._end_waits(number), *self._group_waits(number)]

    def _is_open(self, number: int) -> bool:
        """Whether an end is posted and not complete."""
        return bool((self.posted & ~self.complete) >> number & 1)

    def _open_nodes(self, mask: int) -> list[tuple[Node, bool]]:
        """The open ends of a mask, as what is waited for."""
        numbers = range(len(self.model.ends))
        return [(Node("end", n), True) for n in numbers if mask >> n & 1 and self._is_open(n)]

    def _ranks(self, ranks: Iterable[int]) -> list[tuple[Node, bool]]:
        """The instructions at which ranks wait, where they do."""
        steps = self.model.steps
        return [(Node("rank", r), True) for r in ranks if self.taken[r] < len(steps[r])]

    def _add_rank(self, rank: int, step: Step) -> None:
        node = Node("rank", rank)
        self.place[node] = (rank, step.position) if step.begun else None
        self.edges[node] = self._open_nodes(step.ends)
        for need in step.needs:
            if self.model.met(self.taken, need):
                continue
            target = self._need(need)
            if need.entry >= 0:
                entry = Node("entry", rank, need.entry)
                self.place[entry] = (rank, need.entry)
                self.edges.setdefault(entry, []).extend(target)
                target = [(entry, True)]
            self.edges[node] += target

    def _need(self, need: Need) -> list[tuple[Node, bool]]:
        return self._ranks([need.rank]) if need.position >= 0 else []

    def _end_waits(self, number: int) -> list[tuple[Node, bool]]:
        """What an open end waits for, other than the groups that move with it."""
        model, partner = self.model, self.model.partner[number]
        end = model.ends[number]
        found = self._open_nodes(model.before[number])
        if partner < 0:
            alone = model.buffered and end.message.send
            return found + (self._credit_waits(number) if alone else [])
        there = bool(self.posted >> partner & 1)
        alone = model.buffered and end.message.send
        if not alone:
            found += self._open_nodes(model.before[partner]) if there else []
            found += [] if there else self._ranks([end.message.peer])
        if alone or (model.buffered and there):
            found += self._credit_waits(number if end.message.send else partner)
        return found + (self._ranks(self._absent(number)) if there or alone else [])

    def _credit_waits(self, send: int) -> list[tuple[Node, bool]]:
        """The messages that hold the credit which a send needs."""
        model, found = self.model, list[tuple[Node, bool]]()
        if self.complete >> send & 1 or not model.short(send, self.complete):
            return found
        for other in model.unreceived(send, self.complete):
            receive = model.partner[other]
            if receive < 0:
                continue
            found += self._open_nodes(1 << other | 1 << receive)
            if not self.posted >> receive & 1:
                found += self._ranks([model.ends[receive].rank])
        return found

    def _absent(self, number: int) -> list[int]:
        """The ranks of a weak message that do not stand in a call on its communicator."""
        end = self.model.ends[number]
        if not self.model.weak >> number & 1:
            return []
        ranks = (end.rank, end.message.peer)
        return [r for r in ranks if not self.model.stands(self.taken, r, end.message.comm)]

    def _group_waits(self, number: int) -> list[tuple[Node, bool]]:
        """The other members of its own group and of its partner's."""
        model, partner = self.model, self.model.partner[number]
        if not model.atomic or partner < 0:
            return []
        own, others = model.ends[number].spot, model.ends[partner].spot
        members = [n for n in model.at[own] if n != number]
        if self.posted >> partner & 1:
            members += [n for n in model.at[others] if n != partner]
        return [(Node("end", n), False) for n in members]

    def left_behind(self) -> Iterator[Violation]:
        """Messages that are waited for and need a rank inside a call which is at its end."""
        model = self.model
        for node in sorted(self._waited_for()):
            partner = model.partner[node.at] if node.kind == "end" else -1
            if partner < 0 or not self.posted >> partner & 1:
                continue
            if any(not self._ranks([rank]) for rank in self._absent(node.at)):
                yield "PP301", frozenset({model.name(node.at), model.name(partner)})

    def _waited_for(self) -> set[Node]:
        """What any rank waits for, directly or not."""
        everything = set(self.edges)
        waiting = (node for node in everything if node.kind == "rank")
        return set[Node]().union(*(self._reached(node, everything) for node in waiting))

    def _reached(self, source: Node, within: set[Node]) -> set[Node]:
        """What a node waits for, directly or not, inside a set."""
        seen, todo = {source}, [source]
        while todo:
            for node, _ in self.edges[todo.pop()]:
                if node in within and node not in seen:
                    seen.add(node)
                    todo.append(node)
        return seen

    def _cyclic(self, nodes: set[Node]) -> bool:
        """Whether there is a cycle inside a set of nodes."""
        return any(
            outward and target in nodes and node in self._reached(target, nodes)
            for node in nodes
            for target, outward in self.edges[node]
        )

    def cycles(self) -> Iterator[Violation]:
        """The shortest cycle of each strongly connected component."""
        everything = set(self.edges)
        reached = {node: self._reached(node, everything) for node in everything}
        left = set(everything)
        while left:
            node = min(left)
            component = {other for other in reached[node] if node in reached[other]}
            left = left - component
            if self._cyclic(component):
                yield self._shortest(component)

    def _shortest(self, component: set[Node]) -> Violation:
        """The fewest places that hold a cycle, the lowest ranks and positions first."""
        spots = sorted({spot for node in component if (spot := self.place[node])})
        for size in range(1, len(spots) + 1):
            for chosen in combinations(spots, size):
                nodes = {n for n in component if self.place[n] is None or self.place[n] in chosen}
                if self._cyclic(nodes):
                    return self._code(chosen), frozenset(place(*spot) for spot in chosen)
        raise AssertionError(component)

    def _code(self, spots: tuple[Place, ...]) -> str:
        instructions = [self.model.programs[rank][position] for rank, position in spots]
        alone = all(isinstance(each, Collective | Wait) for each in instructions)
        return "PP205" if alone else "PP301"
