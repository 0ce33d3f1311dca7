"""Every state of every interleaving, layer by layer, without any reduction."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeproof.engines._explore_budget import Budget, Progress, Spent
from pipeproof.engines._explore_frontier import Frontier, fingerprint
from pipeproof.engines._explore_guards import System, bits_of
from pipeproof.engines._explore_words import Bools, Rows, Words, distinct_rows
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import numbered
from pipeproof.semantics.logic import Order
from pipeproof.semantics.model import Model

__all__ = ["Explored", "explore_fully"]

_NO_PAIRS = np.zeros((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class Explored:
    """What there is in all interleavings; with a `frontier`, in those layers that were covered.

    Attributes:
        states: how many states there are.
        transitions: how many steps between them.
        widest: how many states the widest layer has.
        layers: how many layers were explored.
        ends: the states in which nothing more can happen, as sets of events in bits.
        out_of_order: for each pair that was asked, whether its second event is seen without its
            first.
        overlapping: the accesses, by their index, that are seen in progress at once.
        frontier: what is left where the budget ran out.
        over: what ran out.
    """

    states: int
    transitions: int
    widest: int
    layers: int
    ends: tuple[int, ...]
    out_of_order: Bools
    overlapping: frozenset[tuple[int, int]]
    frontier: Frontier | None = None
    over: str = ""


def explore_fully(  # noqa: PLR0913  what to explore, what to ask, how far to go
    model: Model,
    order: Order,
    budget: Budget | None = None,
    *,
    pairs: IntArray = _NO_PAIRS,
    accesses: IntArray = _NO_PAIRS,
    progress: Progress | None = None,
    frontier: Frontier | None = None,
) -> Explored:
    """Visit every state that the guards of `order` let be reached.

    What waits for progress moves weak messages at quiescence only; what is ordered in every
    execution is asked where they move whenever they can.

    Args:
        model: the schedule under its transport.
        order: which guards.
        budget: how far to go.
        pairs: pairs of events, shape `(n, 2)`.
        accesses: first and last event of each, shape `(n, 2)`.
        progress: told the states so far and the layer.
        frontier: what an exploration that asked the same left.
    """
    graph = model.graph(order)
    system = System(model, graph, weak=order.purpose == "progress")
    of = fingerprint(graph, f"full {bool(system.held)}", pairs.reshape(-1), accesses.reshape(-1))
    if frontier is not None:
        frontier.require(of)
    sweep = _Sweep(system, _Watch(Words(system), pairs, accesses), frontier)
    return sweep.run(Spent(budget or Budget(), progress), of)


class _Watch:
    """What is seen in the states of layers: pairs out of order, accesses in progress at once."""

    def __init__(self, words: Words, pairs: IntArray, accesses: IntArray) -> None:
        self.words = words
        self.pairs = pairs
        self.accesses: list[tuple[int, int]] = [(int(a), int(b)) for a, b in accesses]
        self.late = np.zeros(len(pairs), np.bool_)
        self.overlapping: set[tuple[int, int]] = set()

    def see(self, rows: Rows) -> None:
        some, every = (self.words.flags(row)[0] for row in _bounds(rows))
        asked = some[self.pairs[:, 1]] & ~every[self.pairs[:, 0]] & ~self.late
        if np.any(asked):
            self._order(rows, np.flatnonzero(asked))
        open_ = [k for k, (begin, end) in enumerate(self.accesses) if some[begin] & ~every[end]]
        if len(open_) > 1:
            self._overlap(rows, open_)

    def _order(self, rows: Rows, asked: IntArray) -> None:
        before, left = numbered(self.pairs[asked, 0])
        after, right = numbered(self.pairs[asked, 1])
        lacks = np.stack([~self.words.has(rows, e) for e in before.tolist()]).astype(np.float32)
        has = np.stack([self.words.has(rows, e) for e in after.tolist()]).astype(np.float32)
        self.late[asked] = (lacks @ has.T > 0)[left, right]

    def _overlap(self, rows: Rows, open_: list[int]) -> None:
        inside = np.stack(
            [
                self.words.has(rows, begin) & ~self.words.has(rows, end)
                for begin, end in (self.accesses[k] for k in open_)
            ]
        ).astype(np.float32)
        left, right = np.nonzero(np.triu(inside @ inside.T, 1))
        self.overlapping |= {
            (open_[a], open_[b]) for a, b in zip(left.tolist(), right.tolist(), strict=True)
        }


def _bounds(rows: Rows) -> tuple[Rows, Rows]:
    """Return the events of some row, and those of every row, as one row each."""
    return (
        np.bitwise_or.reduce(rows, axis=0, keepdims=True),
        np.bitwise_and.reduce(rows, axis=0, keepdims=True),
    )


class _Sweep:
    """A sweep through the layers of a state graph.

    Every step makes one more event happen, so a state has one layer only: duplicates are found
    inside a layer, and none that is left is kept.
    """

    def __init__(self, system: System, watch: _Watch, frontier: Frontier | None) -> None:
        self.system = system
        self.watch = watch
        self.words = watch.words
        self.layer = frontier.layer if frontier else 0
        self.rows = self.words.rows(frontier.states if frontier else (0,))
        tallies = frontier.tallies if frontier else {}
        self.states, self.transitions, self.widest = (
            tallies.get(name, 0) for name in ("states", "transitions", "widest")
        )
        seen = frontier.seen if frontier else {}
        self.ends = set(seen.get("ends", ()))
        watch.late[list(seen.get("late", ()))] = True
        width = max(len(watch.accesses), 1)
        watch.overlapping = {divmod(each, width) for each in seen.get("overlapping", ())}
        self._able: dict[bytes, frozenset[int]] = {}
        self._programs = self.words.mask(range(system.model.frame.first_transfer))

    def run(self, spent: Spent, of: str) -> Explored:
        while len(self.rows):
            spent.tell(self.layer)
            rows = self._settled(self.rows) if self.system.held else self.rows
            if not spent.allows(len(rows), held=rows.nbytes):
                return self._result(self._frontier(of), spent.over)
            steps = [each for each in self._steps(rows) if len(each[1])]
            made = sum(len(more) for _, more in steps)
            if not spent.allows(held=rows.nbytes + made * rows.shape[1] * 8):
                return self._result(self._frontier(of), spent.over)
            self._note(rows, steps)
            self.rows = distinct_rows(np.concatenate([rows[:0], *(more for _, more in steps)]))
            self.layer += 1
        return self._result(None, "")

    def _note(self, rows: Rows, steps: list[tuple[IntArray, Rows]]) -> None:
        """Count a layer and look at it."""
        self.watch.see(rows)
        self.states += len(rows)
        self.widest = max(self.widest, len(rows))
        self.transitions += sum(len(more) for _, more in steps)
        stuck = np.ones(len(rows), np.bool_)
        for at, _ in steps:
            stuck[at] = False
        for row in rows[stuck]:
            self.ends.add(bits_of(self.words.events(row), self.system.events))

    def _steps(self, rows: Rows) -> Iterator[tuple[IntArray, Rows]]:
        """Yield for each event that can happen in some rows, which, and the rows afterwards."""
        some, every = _bounds(rows)
        words, held = self.words, self.system.held
        near = ~words.never & ~np.any(words.needs & ~some, axis=1)
        near &= (every[0, words.word] & words.bit) == 0
        candidates = np.flatnonzero(near).tolist()
        if held:
            yield from self._slowly(rows, every, candidates)
            return
        for event in candidates:
            at = np.flatnonzero(self._enabled(rows, every, event))
            yield at, self._after(rows[at], event)

    def _slowly(
        self, rows: Rows, every: Rows, candidates: list[int]
    ) -> Iterator[tuple[IntArray, Rows]]:
        """Yield steps where weak messages move at quiescence only, and then before all others."""
        free = np.flatnonzero(~self.words.is_moving(rows))
        resting = np.ones(len(rows), np.bool_)
        for event in candidates:
            if event not in self.system.held:
                at = free[self._enabled(rows[free], every, event)]
                resting[at] = False
                yield at, self._after(rows[at], event)
        yield from self._moves(rows, every, np.flatnonzero(resting), candidates)

    def _enabled(self, rows: Rows, every: Rows, event: int) -> Bools:
        """Return the rows in which an event has not happened and waits for nothing more."""
        words, need = self.words, self.words.needs[event]
        able = ~words.has(rows, event)
        for column in np.flatnonzero(need & ~every[0]).tolist():
            able &= (rows[:, column] & need[column]) == need[column]
        if event in self.system.limits:
            threshold, position = self.system.limits[event]
            missing = np.zeros(len(rows), np.int64)
            for each in threshold.arrived[:position]:
                missing += ~words.has(rows, each)
            able &= missing < threshold.capacity
        return able

    def _after(self, rows: Rows, event: int) -> Rows:
        changed = rows.copy()
        changed[:, self.words.word[event]] |= self.words.bit[event]
        return changed

    # weak messages: they move only at quiescence, and then all that can before any rank goes on

    def _moves(
        self, rows: Rows, every: Rows, resting: IntArray, candidates: list[int]
    ) -> Iterator[tuple[IntArray, Rows]]:
        for at, able in self._groups(rows, resting):
            for event in candidates:
                if self._may_move(event, able):
                    chosen = at[self._enabled(rows[at], every, event)]
                    after = self.words.set_moving(rows[chosen], moving=True)
                    yield chosen, self._after(after, event)

    def _may_move(self, event: int, able: frozenset[int]) -> bool:
        return event in able or (self.system.is_move(event) and event not in self.system.held)

    def _groups(self, rows: Rows, at: IntArray) -> Iterator[tuple[IntArray, frozenset[int]]]:
        """Yield rows whose ranks stand alike, and the held events that may move in them."""
        standing: dict[bytes, list[int]] = {}
        for k in at.tolist():
            standing.setdefault((rows[k] & self._programs).tobytes(), []).append(k)
        for key, members in standing.items():
            if key not in self._able:
                happened = self.words.events(rows[members[0]])
                self._able[key] = self.system.able_to_move(happened)
            yield np.asarray(members, np.int64), self._able[key]

    def _settled(self, rows: Rows) -> Rows:
        """Return the rows, those in which no message moves any more without their mark."""
        moving = np.flatnonzero(self.words.is_moving(rows))
        if not len(moving):
            return rows
        _, every = _bounds(rows)
        going = np.zeros(len(rows), np.bool_)
        for at, able in self._groups(rows, moving):
            for event in range(self.system.events):
                if self._may_move(event, able) and not self.words.never[event]:
                    going[at] |= self._enabled(rows[at], every, event)
        still = moving[~going[moving]]
        rows = rows.copy()
        rows[still] = self.words.set_moving(rows[still], moving=False)
        return distinct_rows(rows)

    def _frontier(self, of: str) -> Frontier:
        width = max(len(self.watch.accesses), 1)
        return Frontier(
            of,
            self.layer,
            self.words.numbers(self.rows),
            tallies={
                "states": self.states,
                "transitions": self.transitions,
                "widest": self.widest,
            },
            seen={
                "ends": tuple(sorted(self.ends)),
                "late": tuple(np.flatnonzero(self.watch.late).tolist()),
                "overlapping": tuple(sorted(a * width + b for a, b in self.watch.overlapping)),
            },
        )

    def _result(self, frontier: Frontier | None, over: str) -> Explored:
        return Explored(
            self.states,
            self.transitions,
            self.widest,
            self.layer,
            tuple(sorted(self.ends)),
            self.watch.late.copy(),
            frozenset(self.watch.overlapping),
            frontier,
            over,
        )
