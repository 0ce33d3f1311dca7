"""Why what is proved holds: the waits that order a pair in every execution, and no more."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pipeproof.engines import graph, smt
from pipeproof.engines.smt import Explanation
from pipeproof.errors import Problem, UsageError
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import NO_EVENT, Needs, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import All, Axiom, Enforced, Rule
from pipeproof.semantics.model import Graph, Model
from pipeproof.verdict.telling import place, trace
from pipeproof.verdict.verdict import Explained, Hop, TraceStep

__all__ = ["explained"]

_FEW = 5  # pairs that are explained where no place is named
_TRIED = 50  # pairs that are tried for them
_MANY = 100  # pairs that are explained at one place
_EVENTS = 200_000  # up to which it is asked of each wait whether it is needed

_Pair = tuple[int, int]


class _Need(NamedTuple):
    """A pair that rules ask to be ordered, for the operation in a row, and what it needs."""

    pair: _Pair
    row: int
    value: int
    rules: list[str]


def explained(
    model: Model, rules: Sequence[Rule], places: Sequence[tuple[int, int]]
) -> tuple[Explained, ...]:
    """Return why what the operations at some places need comes first.

    Without places, why the first few pairs are ordered that no program orders by itself. What is
    not ordered has no explanation: it has a counterexample.

    Raises:
        UsageError: there is no such place.
    """
    teller = _Teller(model)
    if not places:
        return teller.first(_needs(model, rules))
    found: list[Explained] = []
    for rank, position in places:
        rows = _rows(model.frame, rank, position)
        if not len(rows):
            continue
        own = list(_needs(model, rules, rows))[:_MANY]
        told = [each for need in own if (each := teller.told(need)) is not None]
        event = int(model.frame.start(rows[:1])[0])
        found += told or [Explained((), place(model.frame, Spot(event, int(rows[0]))))]
    return tuple(found)


def _rows(frame: Frame, rank: int, position: int) -> IntArray:
    """Return the rows of the operations at a place, in the first copy of the programs.

    There is none where a choice passed it over.
    """
    if 0 <= rank < frame.ranks and position < frame.length(rank):
        own = np.flatnonzero((frame.ops.rank == rank) & (frame.run.copy == 0))
        written = frame.run.written[own]
        stands = frame.run.schedule.operations.position[np.maximum(written, 0)]
        return np.asarray(own[np.where(written >= 0, stands, 0) == position])
    length = frame.length(rank) if rank < frame.ranks else 0
    has = f"rank {rank} has {length} instructions" if length else f"there are {frame.ranks} ranks"
    found, expected = f"r{rank}.{position} is no place; {has}", "positions count from 0"
    raise UsageError([Problem("--why", 1, 1, found, expected)])


def _needs(model: Model, rules: Sequence[Rule], rows: IntArray | None = None) -> Iterator[_Need]:
    """Yield the pairs that rules ask to be ordered, each once, those of earlier positions first.

    Without `rows`, only pairs that are not of one program.
    """
    found: dict[_Pair, _Need] = {}
    for rule in rules:
        for needs in _enforced(model, rule.axiom):
            for k in _chosen(model.frame, needs, rows).tolist():
                pair = int(needs.before[k]), int(needs.after[k])
                need = found.setdefault(
                    pair, _Need(pair, int(needs.rows[k]), int(needs.values[k]), [])
                )
                if rule.code not in need.rules:
                    need.rules.append(rule.code)
    yield from found.values()


def _enforced(model: Model, axiom: Axiom) -> Iterator[Needs]:
    if isinstance(axiom, All):
        for each in axiom.axioms:
            yield from _enforced(model, each)
    elif isinstance(axiom, Enforced):
        yield model.needs(axiom.rel)


def _chosen(frame: Frame, needs: Needs, rows: IntArray | None) -> IntArray:
    chain = frame.chain
    there = np.flatnonzero((needs.before != NO_EVENT) & (needs.before != needs.after))
    there = there[needs.rows[there] >= 0]
    if rows is not None:
        return there[np.isin(needs.rows[there], rows)]
    there = there[chain[needs.before[there]] != chain[needs.after[there]]]
    there = there[frame.run.copy[needs.rows[there]] == 0]
    own = needs.rows[there]
    order = np.lexsort((frame.ops.rank[own], frame.ops.position[own]))
    return np.asarray(there[order[:_TRIED]])


class _Teller:
    """Tells why pairs of one model are ordered."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._frame = model.frame

    def first(self, needs: Iterator[_Need]) -> tuple[Explained, ...]:
        """Return why the first few of some pairs are ordered."""
        ops = self._frame.ops

        def key(need: _Need) -> tuple[int, int, _Pair]:
            return int(ops.position[need.row]), int(ops.rank[need.row]), need.pair

        found: list[Explained] = []
        for need in sorted(needs, key=key)[:_TRIED]:
            told = self.told(need)
            if told is not None and told.known and len(found) < _FEW:
                found.append(told)
        return tuple(found)

    def told(self, need: _Need) -> Explained | None:
        """Return why a pair is ordered, None where it is not."""
        said = smt.explain(self._model, *need.pair)
        if said.ordered is False:
            return None
        at = place(self._frame, Spot(need.pair[1], need.row))
        value = self._frame.ops.value_text(need.value) if need.value >= 0 else ""
        hops = tuple(self._hops(need.pair, said))
        sends = tuple(self._step(each) for each in said.sends)
        return Explained(tuple(need.rules), at, value, hops, sends, known=said.ordered is True)

    def _hops(self, pair: _Pair, said: Explanation) -> Iterator[Hop]:
        """Yield the guards of an explanation, those that meet at a gate made one step."""
        chain, events = self._frame.chain, self._frame.events
        into: dict[int, list[int]] = {}
        for before, gate in said.edges:
            if gate >= events:
                into.setdefault(gate, []).append(before)
        for guard in said.edges:
            before, after = guard
            if after >= events:
                continue
            for each in _through(before, into, events):
                crosses = bool(chain[each] != chain[after] or chain[each] < 0)
                needed = self._is_needed(pair, guard) if crosses else None
                yield Hop(self._step(each), self._step(after), crosses, needed)

    def _step(self, event: int) -> TraceStep:
        (step,) = trace(self._model, [event])
        return step

    def _is_needed(self, pair: _Pair, guard: _Pair) -> bool | None:
        """Whether a pair would not be ordered without a guard of an event of a program."""
        whole = self._model.happens_before
        on_program = guard[1] < self._frame.first_transfer
        if not on_program or whole.size > _EVENTS or len(self._model.weak):
            return None
        kept = (whole.before != guard[0]) | (whole.after != guard[1])
        rest = whole._replace(before=whole.before[kept], after=whole.after[kept])
        return not self._is_ordered(pair, rest)

    def _is_ordered(self, pair: _Pair, guards: Graph) -> bool:
        before, after = pair
        if not guards.credits:
            return before in graph.Ancestors(guards).of(np.asarray([after]))
        never = guards.never.copy()
        never[before] = True
        return not graph.run(self._model, guards._replace(never=never)).happened[after]


def _through(event: int, into: dict[int, list[int]], events: int) -> Iterator[int]:
    """Yield an event, or for a gate those that come together in it."""
    if event < events:
        yield event
        return
    for each in into.get(event, ()):
        yield from _through(each, into, events)
