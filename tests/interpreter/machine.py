"""Every interleaving of a schedule, with what each storage holds in each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tests.interpreter.layout import Agent, Layout, ReadKey, bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.spec import Spec

POISON = frozenset({"poison"})
FREED = frozenset({"freed"})
EMPTY = frozenset({"empty"})


class TooManyStatesError(Exception):
    """More states than the limit allows."""


class Cell(NamedTuple):
    """One storage in one state: what it holds and who is writing it."""

    holds: frozenset[str]
    writers: tuple[int, ...] = ()
    mixed: bool = False


class State(NamedTuple):
    """Where each rank is (twice its position, one more while inside), ends, storage."""

    taken: tuple[int, ...]
    complete: int
    cells: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Storages:
    """What is read, and what goes wrong with nobody reading.

    Attributes:
        reads: What each read may see, over all interleavings.
        clashes: Writes that overlap, and storage given back while a transfer uses it.
        crossed: Messages whose two ends name different values.
        stuck: Some interleaving ends with a rank not at its end.
        states: How many states there are.
    """

    reads: dict[ReadKey, frozenset[str]]
    clashes: frozenset[str]
    crossed: frozenset[str]
    stuck: bool
    states: int


class Machine(Layout):
    """A schedule, ready to run."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.seen: dict[ReadKey, set[str]] = defaultdict(set)
        self.clashes: set[str] = set()

    def initial(self) -> State:
        """The state in which nothing has happened."""
        cells = tuple(
            tuple(Cell(frozenset(storage.given.get(name, ())) or EMPTY) for name in index)
            for storage, index in zip(self.ranks, self.index, strict=True)
        )
        return State((0,) * len(self.steps), 0, cells)

    def posted(self, state: State, number: int) -> bool:
        """Whether an end is posted."""
        end = self.ends[number]
        return state.taken[end.agent.rank] > 2 * end.position

    def successors(self, state: State) -> Iterator[State]:
        """All states one event further, or the one that stands for all."""
        for rank in range(len(self.steps)):
            if self._alone(state, rank) and (after := self._advance(state, rank)):
                yield after
                return
        for number, end in enumerate(self.ends):
            if end.quiet and self._may_complete(state, number):
                yield self._complete(state, number)
                return
        for rank in range(len(self.steps)):
            if after := self._advance(state, rank):
                yield after
        for number in range(len(self.ends)):
            if self._may_complete(state, number):
                yield self._complete(state, number)

    def _complete(self, state: State, number: int) -> State:
        after = state._replace(complete=state.complete | 1 << number)
        return self._finish(after, self.ends[number].agent)

    def _alone(self, state: State, rank: int) -> bool:
        """Whether a rank stays as it is until its next event, which no other event can undo."""
        return not any(
            end.agent.rank == rank and self.posted(state, n) and not state.complete >> n & 1
            for n, end in enumerate(self.ends)
        )

    def _advance(self, state: State, rank: int) -> State | None:
        """The state after the next event of a rank, if it may happen."""
        taken = state.taken[rank]
        if taken == 2 * len(self.steps[rank]):
            return None
        stage = self.steps[rank][taken // 2]
        following = state._replace(taken=(*state.taken[:rank], taken + 1, *state.taken[rank + 1 :]))
        if taken % 2:
            if stage.holds & ~state.complete or not all(self._met(state, e) for e in stage.joins):
                return None
            return self._finish(following, stage.agent)
        if stage.needs & ~state.complete:
            return None
        following = self._begin(following, stage.agent)
        for number in bits(stage.posts):
            following = self._begin(following, self.ends[number].agent)
        return following

    def _met(self, state: State, entry: tuple[int, int]) -> bool:
        rank, position = entry
        return rank >= 0 and state.taken[rank] > 2 * position

    def _may_complete(self, state: State, number: int) -> bool:
        end = self.ends[number]
        if state.complete >> number & 1 or not self.posted(state, number):
            return False
        if end.message.kind == "RECV":
            return end.partner >= 0 and bool(state.complete >> end.partner & 1)
        if self.spec.transport.completion == "buffered":
            return True
        return end.partner >= 0 and self.posted(state, end.partner)

    def _begin(self, state: State, agent: Agent) -> State:
        """The state in which an agent has begun to write, and has given back storage."""
        for name in agent.touch.frees:
            cell = self._cell(state, agent.rank, name)
            transfers = cell.writers or any(
                number == self.index[agent.rank][name]
                for reader in self._readers(state)
                if reader.rank == agent.rank
                for _, _, number in reader.reads
            )
            if transfers:
                self.clashes.add(f"r{agent.rank} FREE {name}")
            state = self._store(state, agent.rank, name, cell._replace(holds=FREED))
        for name in agent.touch.writes:
            cell = self._cell(state, agent.rank, name)
            if cell.writers:
                self.clashes.add(f"r{agent.rank} {name}: {sorted(agent.touch.writes[name])}")
            writers = tuple(sorted((*cell.writers, agent.number)))
            mixed = cell.mixed or len(writers) > 1
            state = self._store(state, agent.rank, name, Cell(cell.holds, writers, mixed))
        return state

    def _finish(self, state: State, agent: Agent) -> State:
        """The state in which what an agent writes is there."""
        for name, values in agent.touch.writes.items():
            cell = self._cell(state, agent.rank, name)
            writers = tuple(number for number in cell.writers if number != agent.number)
            holds = POISON if cell.mixed else values
            state = self._store(
                state, agent.rank, name, Cell(holds, writers, cell.mixed and bool(writers))
            )
        for name, tag in agent.touch.tags:
            cell = self._cell(state, agent.rank, name)
            known = cell.holds not in (POISON, FREED, EMPTY)
            holds = cell.holds | {tag} if known else cell.holds
            state = self._store(state, agent.rank, name, cell._replace(holds=holds))
        return state

    def _cell(self, state: State, rank: int, name: str) -> Cell:
        return state.cells[rank][self.index[rank][name]]

    def _store(self, state: State, rank: int, name: str, cell: Cell) -> State:
        number, cells = self.index[rank][name], state.cells[rank]
        changed = (*cells[:number], cell, *cells[number + 1 :])
        return state._replace(cells=(*state.cells[:rank], changed, *state.cells[rank + 1 :]))

    def _readers(self, state: State) -> Iterator[Agent]:
        """The agents that are reading."""
        for rank, taken in enumerate(state.taken):
            if taken % 2:
                yield self.steps[rank][taken // 2].agent
        for number, end in enumerate(self.ends):
            if not state.complete >> number & 1 and self.posted(state, number):
                yield end.agent

    def observe(self, state: State) -> None:
        """Records what everybody who reads sees."""
        for agent in self._readers(state):
            for key, value, number in agent.reads:
                cell = state.cells[agent.rank][number]
                others = any(writer != agent.number for writer in cell.writers)
                holds = POISON if others else cell.holds
                self.seen[key].add(value if value in holds else " ".join(sorted(holds)))

    def hangs(self, state: State) -> bool:
        """Whether a rank is not at its end."""
        return any(
            taken < 2 * len(steps) for taken, steps in zip(state.taken, self.steps, strict=True)
        )


def run(spec: Spec, limit: int = 60_000) -> Storages:
    """Visits every state.

    Raises:
        TooManyStatesError: There are more than `limit`.
    """
    machine = Machine(spec)
    todo = [machine.initial()]
    visited, stuck = set(todo), False
    while todo:
        state = todo.pop()
        machine.observe(state)
        following = list(machine.successors(state))
        stuck = stuck or (not following and machine.hangs(state))
        for other in following:
            if other not in visited:
                visited.add(other)
                todo.append(other)
        if len(visited) > limit:
            raise TooManyStatesError(limit)
    crossed = {
        f"{end.message.value} against {machine.ends[end.partner].message.value}"
        for end in machine.ends
        if end.partner >= 0 and end.message.value != machine.ends[end.partner].message.value
    }
    return Storages(
        {key: frozenset(seen) for key, seen in machine.seen.items()},
        frozenset(machine.clashes),
        frozenset(crossed),
        stuck,
        len(visited),
    )
