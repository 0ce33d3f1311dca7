"""What a certificate is written from: executions, and paths through what happens before what."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pipeproof.engines._order import Ancestors, HappensBefore
from pipeproof.engines._sweep import run
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics.found import NO_EVENT, Finding, Needs
from pipeproof.semantics.logic import Acyclic, All, Axiom, Empty, Enforced, Rel, Rule
from pipeproof.semantics.model import Graph, Model
from pipeproof.verdict._hops import counts, known, named_pair, settled
from pipeproof.verdict.certificate import Blocked, Ordered, Path, Refuted
from pipeproof.verdict.decision import Broken

__all__ = ["Witness"]

_COLUMNS = 32  # programs that are followed at once
_BLOCKED_EVENTS = 5_000_000  # all runs of one transport together


class Witness:
    """What shows a verdict of one model; nothing of it is made before it is asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known = known(model)

    def complete(self) -> tuple[int, ...] | None:
        """Return a run of every event, None where there is none."""
        model = self.model
        found = run(model, settled(model, model.progress))
        if not np.all(found.happened[: model.events]):
            return None
        return _listed(found.order(np.arange(model.events)))

    # pairs that are ordered

    def ordered(self, before: IntArray, after: IntArray) -> list[Ordered | None]:
        """Return for each pair why it is ordered, None where that takes too many words.

        Every event must happen, and every pair be ordered; `after` are events of programs.
        """
        found: list[Ordered | None] = [None] * len(before)
        chain = self._order.frame.chain
        wait = self._order._earliest_wait[before]  # noqa: SLF001  a part of the same engine
        own = (wait <= after) & (chain[np.minimum(wait, self.known - 1)] == chain[after])
        for k in np.flatnonzero(own).tolist():
            found[k] = _path([int(before[k]), int(wait[k])], int(after[k]))
        self._follow(before, after, np.flatnonzero(~own), found)
        self._block(before, after, found)
        return found

    @cached_property
    def _order(self) -> HappensBefore:
        """The order in which a step is an edge, and no count."""
        graph = self.model.happens_before
        key = graph.before * graph.size + graph.after
        edge = ~among(key, counts(self.model) @ np.asarray([graph.size, 1]))
        order = HappensBefore(self.model)
        order.graph = graph._replace(
            before=graph.before[edge],
            after=graph.after[edge],
            credits=(),
            held=np.zeros(graph.size, np.bool_),
        )
        return order

    def _follow(
        self, before: IntArray, after: IntArray, asked: IntArray, found: list[Ordered | None]
    ) -> None:
        """Walk from each event to the first event of a program that comes after it."""
        rank = self.model.frame.chain[after]
        for ranks in _some(distinct(rank[asked])):
            firsts = self._order.reach.first(ranks)
            for column, each in enumerate(ranks.tolist()):
                first = np.ascontiguousarray(firsts[:, column])
                own = asked[rank[asked] == each]
                own = own[first[before[own]] <= after[own]]
                for k, path in zip(own.tolist(), self._walk(before[own], first), strict=True):
                    found[k] = _path(path, int(after[k]))

    def _walk(self, events: IntArray, first: npt.NDArray[np.int32]) -> Iterator[list[int]]:
        """Yield the way from each event to the first event of a program after it."""
        if not len(events):
            return
        edges = self._edges
        good = first[edges[:, 0]] == first[edges[:, 1]]
        step = np.full(self._order.graph.size, NO_EVENT, np.int64)
        step[edges[good, 0]] = edges[good, 1]  # of several, the one that leads farthest
        onward = step.tolist()
        for event, last in zip(events.tolist(), first[events].tolist(), strict=True):
            path = [event]
            while path[-1] != last:
                path.append(onward[path[-1]])
            yield self._without_stops([each for each in path if each < self.model.events])

    @cached_property
    def _edges(self) -> IntArray:
        """The steps of paths, in order of how far they lead."""
        graph = self._order.graph
        levels = self._order._levels  # noqa: SLF001  a part of the same engine
        order = np.argsort(levels[graph.after], kind="stable")
        return np.stack((graph.before[order], graph.after[order]), axis=1)

    def _without_stops(self, path: list[int]) -> list[int]:
        """Return a path without the events between two of the same program."""
        chain = self.model.frame.chain
        kept: list[int] = []
        for event in path:
            while len(kept) > 1 and chain[event] >= 0:
                if not chain[kept[-1]] == chain[kept[-2]] == chain[event]:
                    break
                kept.pop()
            kept.append(event)
        return kept

    def _block(self, before: IntArray, after: IntArray, found: list[Ordered | None]) -> None:
        """Say of the pairs that a count orders what can happen without the first event."""
        left = _BLOCKED_EVENTS
        open_ = np.asarray([k for k, each in enumerate(found) if each is None], np.int64)
        for event in distinct(before[open_]).tolist():
            own = open_[before[open_] == event]
            if left <= 0:
                return
            graph = _without(self.model.happens_before, event)
            blocked = run(self.model, graph)
            events = np.flatnonzero(blocked.happened[: self.model.events])
            listed = _listed(blocked.order(events))
            for k in own.tolist():
                if blocked.level[after[k]] < 0:
                    found[k] = Blocked(event, int(after[k]), listed)
                    left -= len(listed)

    # what is broken

    def refuted(self, rule: Rule, broken: Broken, copies: int) -> Refuted | None:
        """Return an execution that shows what is broken, None where none can."""
        return self._refuted(rule.axiom, rule.code, broken.finding, copies)

    def _refuted(self, axiom: Axiom, code: str, finding: Finding, copies: int) -> Refuted | None:
        name = self.model.frame.transport.name
        match axiom:
            case Acyclic() if finding not in self.model.findings(Rel("unentered")).found:
                places = self._places([spot.row for spot in finding.spots])
                return Refuted(name, copies, code, self._furthest, places=places)
            case Empty(rel) if finding in self.model.findings(rel).found:
                places = self._places([spot.row for spot in finding.spots])
                return Refuted(name, copies, code, (), places=places)
            case Enforced(rel):
                shown = self._open_pair(self.model.needs(rel), finding)
                return None if shown is None else Refuted(name, copies, code, *shown)
            case All(axioms):
                parts = (self._refuted(each, code, finding, copies) for each in axioms)
                return next((each for each in parts if each is not None), None)
            case _:  # nobody waits in a cycle for who never enters; the rest has no run
                return None

    def _places(self, rows: list[int]) -> tuple[tuple[int, int], ...]:
        """Return rank and position, over all copies as run, of rows."""
        frame = self.model.frame
        instructions = frame.ops.instruction[rows]
        ranks = frame.ops.rank[rows]
        positions = instructions - frame.run.rank_start[ranks]
        return tuple(sorted(set(zip(ranks.tolist(), positions.tolist(), strict=True))))

    @cached_property
    def _furthest(self) -> tuple[int, ...]:
        """A run to where nothing more can happen."""
        model = self.model
        found = run(model, settled(model, model.progress))
        return _listed(found.order(np.flatnonzero(found.happened[: self.known])))

    def _open_pair(
        self, needs: Needs, finding: Finding
    ) -> tuple[tuple[int, ...], tuple[()], tuple[int, int]] | None:
        """Return a run to the second event of a pair without the first, and the pair."""
        (spot,) = finding.spots
        for k in np.flatnonzero((needs.rows == spot.row) & (needs.after == spot.event)).tolist():
            before, _ = named_pair(self.model, needs, k)
            for order in (self.model.progress, self.model.happens_before):
                execution = self._without(order, before, spot.event)
                if execution is not None:
                    return execution, (), (before, spot.event)
        return None

    def _without(self, order: Graph, before: int, after: int) -> tuple[int, ...] | None:
        """Return an execution that ends with one event and holds another one not."""
        graph = settled(self.model, _without(order, before))
        found = run(self.model, graph)
        if found.level[after] < 0:
            return None
        if graph.credits or len(self.model.weak):
            events = np.flatnonzero(found.happened & (found.level < found.level[after]))
        else:
            events = Ancestors(graph).of(np.asarray([after]))
        return (*_listed(found.order(events[events < self.known])), after)


def _some(ranks: IntArray) -> Iterator[IntArray]:
    """Yield the programs that are followed at once."""
    for low in range(0, len(ranks), _COLUMNS):
        yield ranks[low : low + _COLUMNS]


def _without(graph: Graph, event: int) -> Graph:
    if event == NO_EVENT:
        return graph
    never = graph.never.copy()
    never[event] = True
    return graph._replace(never=never)


def _listed(events: IntArray) -> tuple[int, ...]:
    return tuple(events.tolist())


def _path(path: list[int], after: int) -> Path:
    """Return the entry for a path that leads to an event of a program, and goes on there."""
    return Path(path[0], after, tuple(path) if path[-1] == after else (*path, after))
