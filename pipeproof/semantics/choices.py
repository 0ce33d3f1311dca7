"""The outcomes of choices side by side: one set of events, and guards that hold in some of them.

An instruction that several outcomes have is one, and so is a message between the same ends.
Which events are taken for the same decides nothing: each guard is known with the outcomes in which
it stands, so that in every outcome exactly its own guards are left.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray, read_only
from pipeproof.ir.sets import distinct, numbered, ordinal_in_group
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Graph, Model

__all__ = ["Beside", "Counted", "Joint", "Settled"]

Bools = npt.NDArray[np.bool_]
_CODE = 40  # bits of rank and position of an instruction


class Settled(NamedTuple):
    """One outcome: its model, and what was chosen, as pairs of a choice and its alternative."""

    model: Model
    picked: tuple[tuple[str, str], ...]


class Counted(NamedTuple):
    """At least `least` of `arrivals` come before `event` in some outcomes, shape `(outcomes,)`."""

    event: int
    arrivals: tuple[int, ...]
    least: int
    holds: Bools


class Joint(NamedTuple):
    """The guards of one order in every outcome, over `size` events and gates of all of them.

    `present[e, k]`: outcome k has event e; `holds[n, k]`: there `after[n]` waits for `before[n]`;
    `never[e, k]`: there it waits for itself. `event[k]` holds the number of each event and gate
    of outcome k, no two alike.
    """

    size: int
    present: Bools
    before: IntArray
    after: IntArray
    holds: Bools
    never: Bools
    counted: tuple[Counted, ...]
    event: tuple[IntArray, ...]

    @property
    def outcomes(self) -> int:
        """How many outcomes there are."""
        return len(self.event)


class Beside:
    """The models of all outcomes of a schedule under one transport, side by side.

    An instruction is known by its rank and position, which every outcome keeps. `picked` is what
    each of them chose; where two chose the same, which of them it is is a choice, too.
    """

    def __init__(self, settled: Sequence[Settled]) -> None:
        self.models = tuple(each.model for each in settled)
        self.picked = tuple(each.picked for each in settled)
        if len({frozenset(each) for each in self.picked}) < len(self.picked):
            self.picked = tuple((*p, ("outcome", str(k))) for k, p in enumerate(self.picked))
        self._ranks = max(each.frame.ranks for each in self.models)
        self._transfers: dict[tuple[int, ...], int] = {}

    @cached_property
    def _codes(self) -> tuple[IntArray, ...]:
        """What each instruction of each outcome is known by."""
        width = max((int(m.frame.ops.position.max(initial=0)) for m in self.models), default=0) + 1
        found = []
        for model in self.models:
            ops = model.frame.ops
            first = ops.first_row
            code = ops.rank[first] * width + ops.position[first]
            found.append((ordinal_in_group(code) << _CODE) + code)
        return tuple(found)

    @cached_property
    def _instructions(self) -> IntArray:
        return distinct(np.concatenate(self._codes))

    @cached_property
    def events(self) -> tuple[IntArray, ...]:
        """The number of each event of each outcome, gates not counted."""
        return tuple(self._numbered(k, model.frame) for k, model in enumerate(self.models))

    @cached_property
    def size(self) -> int:
        """How many events there are, gates not counted."""
        return max(int(each.max(initial=-1)) for each in self.events) + 1

    def _numbered(self, outcome: int, frame: Frame) -> IntArray:
        number = np.searchsorted(self._instructions, self._codes[outcome])
        ends = 2 * len(self._instructions)
        found = np.empty(frame.events, np.int64)
        found[0 : frame.ends : 2], found[1 : frame.ends : 2] = 2 * number, 2 * number + 1
        found[frame.ends : frame.first_transfer] = ends + np.arange(frame.ranks)
        ops, pairing = frame.ops, frame.pairing
        rows = np.stack((number[ops.instruction], ops.member), axis=1)
        nobody = np.full((1, rows.shape[1]), -1, np.int64)
        rows = np.concatenate((rows, nobody))  # an end that does not exist is row -1
        both = np.concatenate((rows[pairing.send], rows[pairing.receive]), axis=1)
        first = ends + self._ranks + 2 * self._of_transfers(both.tolist())
        found[frame.first_transfer :: 2], found[frame.first_transfer + 1 :: 2] = first, first + 1
        return read_only(found)

    def _of_transfers(self, both: list[list[int]]) -> IntArray:
        """Number messages by their ends; a second one between the same ends is another."""
        found: list[int] = []
        used: Counter[tuple[int, ...]] = Counter()
        for ends in map(tuple, both):
            used[ends] += 1
            key = *ends, used[ends]
            found.append(self._transfers.setdefault(key, len(self._transfers)))
        return np.asarray(found, np.int64)

    def joint(self, graph: Callable[[Model], Graph]) -> Joint:
        """Return the guards of one order, those of `graph`, in all outcomes."""
        graphs = tuple(map(graph, self.models))
        gates = _Gates(self.size)
        event = tuple(
            np.concatenate((own, gates.numbered(each, own, k)))
            for k, (each, own) in enumerate(zip(graphs, self.events, strict=True))
        )
        size, count = gates.size, len(graphs)
        present, never = np.zeros((size, count), np.bool_), np.zeros((size, count), np.bool_)
        pairs: list[IntArray] = []
        for k, (each, own) in enumerate(zip(graphs, event, strict=True)):
            present[own, k] = True
            never[own[each.never], k] = True
            pairs.append(distinct(own[each.before] * size + own[each.after]))
        which, place = numbered(np.concatenate(pairs))
        holds = np.zeros((len(which), count), np.bool_)
        holds[place, np.repeat(np.arange(count), [len(each) for each in pairs])] = True
        return Joint(
            size,
            present,
            read_only(which // size),
            read_only(which % size),
            holds,
            never,
            _counted(graphs, event),
            event,
        )


def _counted(graphs: Sequence[Graph], event: Sequence[IntArray]) -> tuple[Counted, ...]:
    found: dict[tuple[int, tuple[int, ...], int], Bools] = {}
    for k, (graph, own) in enumerate(zip(graphs, event, strict=True)):
        for credit in graph.credits:
            drained, arrived = own[credit.drained].tolist(), own[credit.arrived].tolist()
            for n in range(credit.capacity, len(drained)):
                key = drained[n], tuple(arrived[:n]), n - credit.capacity + 1
                found.setdefault(key, np.zeros(len(graphs), np.bool_))[k] = True
    return tuple(Counted(*key, holds) for key, holds in found.items())


class _Gates:
    """Numbers for gates: one that opens with the same events in several outcomes has one number."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._known: dict[Hashable, int] = {}

    @property
    def size(self) -> int:
        return self._first + len(self._known)

    def numbered(self, graph: Graph, own: IntArray, outcome: int) -> IntArray:
        """Return the numbers of the gates of a graph, whose events have the numbers `own`."""
        first = len(own)
        number = [-1] * (graph.size - first)
        before: list[list[int]] = [[] for _ in number]
        gated = np.flatnonzero(graph.after >= first)
        for left, right in zip(
            graph.before[gated].tolist(), graph.after[gated].tolist(), strict=True
        ):
            before[right - first].append(left)
        used: Counter[tuple[int, ...]] = Counter()
        left_over = list(range(len(number)))
        while left_over:
            ready = [
                g for g in left_over if all(b < first or number[b - first] >= 0 for b in before[g])
            ]
            for gate in ready:
                opened_by = {int(own[b]) if b < first else number[b - first] for b in before[gate]}
                key = tuple(sorted(opened_by))
                used[key] += 1
                number[gate] = self._number((key, used[key]))
            for gate in () if ready else left_over:  # they wait for each other
                number[gate] = self._number((outcome, gate, "alone"))
            left_over = [g for g in left_over if number[g] < 0]
        return np.asarray(number, np.int64)

    def _number(self, key: Hashable) -> int:
        return self._known.setdefault(key, self.size)
