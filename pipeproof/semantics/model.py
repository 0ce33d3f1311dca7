"""The events of a schedule under a transport, and what each waits for."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun, Waits
from pipeproof.ir.operations import IntArray, read_only
from pipeproof.ir.sets import among
from pipeproof.ir.transport import Transport
from pipeproof.semantics import assumptions
from pipeproof.semantics.earliest import TIMED
from pipeproof.semantics.found import Credit, Edges, Findings, Holds, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import HAPPENS_BEFORE, PROGRESS, Order, Rel
from pipeproof.semantics.relations import EDGES, ENDINGS, FINDINGS, HOLDS, NEEDS, OF_PROGRAMS
from pipeproof.semantics.relations.bounds import bound
from pipeproof.semantics.relations.moving import moving_sets
from pipeproof.semantics.unjudged import unjudged

__all__ = ["Graph", "Model"]


class Graph(NamedTuple):
    """A system of guards: `after[k]` waits for `before[k]`, over `size` events and gates.

    `never` marks events that wait for themselves; `credits` are thresholds; `held` marks events
    of weak communicators, which move only while both ranks stand in a call on them.
    """

    size: int
    before: IntArray
    after: IntArray
    never: npt.NDArray[np.bool_]
    credits: tuple[Credit, ...]
    held: npt.NDArray[np.bool_]


class Model:
    """One schedule under one transport: what engines, replay and certificates interpret."""

    def __init__(
        self,
        run: AsRun,
        transport: Transport,
        waits: Waits,
        shared: dict[str, Findings] | None = None,
    ) -> None:
        """Make the model.

        Args:
            run: the schedule as run.
            transport: when messages move.
            waits: what waits for what under it.
            shared: findings of other models of the same run; those of programs are kept there.
        """
        self._shared: dict[str, Findings] = {} if shared is None else shared
        self.frame = Frame(run, transport, waits)
        self._graphs: dict[str, Graph] = {}
        self._findings: dict[str, Findings] = {}

    @cached_property
    def unjudged(self) -> dict[str, str]:
        """What the schedule needs and no rule of this version judges, by code, and why."""
        return unjudged(self.frame)

    @property
    def events(self) -> int:
        """How many events there are, gates not counted."""
        return self.frame.events

    @property
    def waits(self) -> int:
        """How many pairs the largest order has of those that were made so far."""
        return max((len(each.before) for each in self._graphs.values()), default=0)

    def graph(self, order: Order) -> Graph:
        """Return the guards that make up `order` under the model's transport."""
        plain = not bool(np.any(self.frame.ops.is_kind(Kind.COLL, Kind.TIE)))
        purpose = "both" if plain else order.purpose  # without collectives they are the same
        if purpose not in self._graphs:
            self._graphs[purpose] = self._assemble(order)
        return self._graphs[purpose]

    def findings(self, rel: Rel) -> Findings:
        """Return what the relation holds of."""
        found = self._shared if rel.name in OF_PROGRAMS else self._findings
        if rel.name not in found:
            if rel.name in TIMED:
                found[rel.name] = TIMED[rel.name](self.frame, self.progress)
            else:
                found[rel.name] = FINDINGS[rel.name](self.frame)
        return found[rel.name]

    def ending(self, rel: Rel, happened: npt.NDArray[np.bool_]) -> Findings:
        """Return what the relation holds of where nothing more can happen.

        Args:
            rel: the relation.
            happened: which events have happened there; gates may stand behind them.
        """
        return ENDINGS[rel.name](self.frame, happened)

    def edges(self, name: str) -> Edges:
        """Return the pairs of one of the relations that make up an order."""
        return EDGES[name](self.frame)

    def needs(self, rel: Rel) -> Needs:
        """Return the pairs of the relation that must be ordered."""
        return NEEDS[rel.name](self.frame)

    def holds(self, rel: Rel) -> Holds:
        """Return what the measure counts."""
        return HOLDS[rel.name](self.frame)

    def is_bounded(self, rel: Rel) -> bool:
        """Whether the file bounds what the measure counts."""
        described = self.frame.run.schedule.described
        return bound(self.frame, rel.name) is not None and "sizes" in described

    def is_findings(self, rel: Rel) -> bool:
        """Whether the relation is known as one that must hold of nothing."""
        return rel.name in FINDINGS or rel.name in TIMED

    @property
    def progress(self) -> Graph:
        """What each event waits for."""
        return self.graph(PROGRESS)

    @property
    def happens_before(self) -> Graph:
        """What is ordered in every execution."""
        return self.graph(HAPPENS_BEFORE)

    def _assemble(self, order: Order) -> Graph:
        frame = self.frame
        pairs: list[IntArray] = []
        never: list[IntArray] = []
        thresholds: list[Credit] = []
        size = frame.events
        for name in (*assumptions.relations(frame.transport, order), "struck"):
            edges = EDGES[name](frame)
            moved = size - frame.events
            shifted = edges.pairs
            if edges.gates and moved:
                shifted = np.where(shifted >= frame.events, shifted + moved, shifted)
            pairs.append(shifted)
            lost = edges.never
            never.append(np.where(lost >= frame.events, lost + moved, lost))
            thresholds.extend(edges.credits)
            size += edges.gates
        joined = np.concatenate(pairs)
        marked = np.zeros(size, np.bool_)
        marked[np.concatenate(never)] = True
        return Graph(
            size,
            read_only(joined[:, 0]),
            read_only(joined[:, 1]),
            marked,
            tuple(thresholds),
            self._held(size),
        )

    def _held(self, size: int) -> npt.NDArray[np.bool_]:
        held = np.zeros(size, np.bool_)
        held[self.frame.drained(self.weak)] = True
        held[self.frame.arrived(self.weak)] = True
        return held

    @cached_property
    def weak(self) -> IntArray:
        """The transfers on weak communicators, and what moves together with them."""
        frame = self.frame
        names = frame.transport.weak
        numbers = [n for n, name in enumerate(frame.ops.comms) if name in names]
        pairing = frame.pairing
        anchor = np.where(pairing.send >= 0, pairing.send, pairing.receive)
        weak = among(frame.ops.comm[anchor], numbers)
        if frame.atomic:
            sets = moving_sets(frame)
            weak = among(sets, sets[weak])
        return read_only(np.flatnonzero(weak))
