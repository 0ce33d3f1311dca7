"""Which events come before which in every execution: exact, and for many questions at once."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from pipeproof.engines._reach import NEVER, Reach
from pipeproof.engines._sweep import run
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics.found import NO_EVENT
from pipeproof.semantics.model import Graph, Model

__all__ = ["NEVER", "Ancestors", "HappensBefore"]

_SMALL = 30_000  # events of graphs that are walked one by one, not front by front
_FEW = 32  # questions that are walked one by one
_COLUMNS = 32  # programs that are followed at once
_WALKS = 4_000_000  # events that are walked over, all walks together, where not all happen


class Ancestors:
    """What happens before an event in every execution, by walking guards backwards."""

    def __init__(self, graph: Graph) -> None:
        order = np.argsort(graph.after, kind="stable")
        self._previous = graph.before[order]
        self._bounds = np.searchsorted(graph.after[order], np.arange(graph.size + 1))
        self._size = graph.size

    def of(self, events: IntArray, until: IntArray | None = None) -> IntArray:
        """Return every event and gate strictly before one of `events`.

        With `until`, the walk may end once all of these have been met.
        """
        if self._size <= _SMALL:
            return self._stepwise(events)
        seen = np.zeros(self._size, np.bool_)
        front = distinct(events)
        while len(front) and (until is None or not np.all(seen[until])):
            low, high = self._bounds[front], self._bounds[front + 1]
            counts = high - low
            first = np.repeat(low - np.cumsum(counts) + counts, counts)
            back = distinct(self._previous[first + np.arange(len(first))])
            front = back[~seen[back]]
            seen[front] = True
        return np.flatnonzero(seen)

    @cached_property
    def _lists(self) -> tuple[list[int], list[int]]:
        return self._previous.tolist(), self._bounds.tolist()

    def _stepwise(self, events: IntArray) -> IntArray:
        """Walk event by event: fronts of few events are slower in arrays."""
        previous, bounds = self._lists
        seen = bytearray(self._size)
        left: list[int] = events.tolist()
        while left:
            event = left.pop()
            for each in previous[bounds[event] : bounds[event + 1]]:
                if not seen[each]:
                    seen[each] = 1
                    left.append(each)
        return np.flatnonzero(np.frombuffer(seen, np.uint8))


class HappensBefore:
    """The happens-before order of a model, asked in arrays.

    Questions are about an event and an event of a program. The cheap answers come first: program
    order, a wait of that program, a reply of the peer. What they leave open is walked, or, where
    there is much of it, followed through the whole graph for several programs at once.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.frame = model.frame
        self.graph = model.happens_before

    @cached_property
    def ancestors(self) -> Ancestors:
        """The walk backwards."""
        return Ancestors(self.graph)

    @cached_property
    def reach(self) -> Reach:
        """What comes behind, for many events at once."""
        return Reach(self.graph, self.frame.chain)

    def ordered(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """Return which pairs are ordered in every execution; NO_EVENT comes before nothing.

        An event counts as before itself. `after` are events of programs.
        """
        chain = self.frame.chain
        exists = before != NO_EVENT
        same = exists & (chain[np.where(exists, before, 0)] == chain[after])
        found: npt.NDArray[np.bool_] = same & (before <= after)
        open_ = np.flatnonzero(exists & ~same)
        found[open_] = self._soon(before[open_], chain[after[open_]]) <= after[open_]
        open_ = open_[~found[open_]]
        if len(open_):
            found[open_] = self._exactly(before[open_], after[open_])
        return found

    def first_after(
        self, events: IntArray, ranks: IntArray, floor: IntArray | None = None
    ) -> IntArray:
        """Return the first event of each rank's program that `events` come before, else NEVER.

        With thresholds among the guards, an upper bound of it. With `floor`, what is at most that
        need not be exact either.
        """
        soon = self._soon(events, ranks)
        least = self._posted(events, ranks)
        least = least if floor is None else np.maximum(least, floor)
        far = np.flatnonzero(soon > least)
        if len(far) and self._all_happen:
            soon[far] = np.minimum(soon[far], self._followed(events[far], ranks[far]))
        elif self._may_walk(events[far]):
            soon[far] = np.minimum(soon[far], self._walked_to(events[far], ranks[far]))
        return soon

    def _posted(self, events: IntArray, ranks: IntArray) -> IntArray:
        """Return the end of the call that posts a transfer on a rank, a lower bound; else -1."""
        frame, pairing = self.frame, self.frame.pairing
        least = np.full(len(events), -1, np.int64)
        moving = (events >= frame.first_transfer) & (events < frame.events)
        for rows in (pairing.send, pairing.receive):
            at = np.flatnonzero(moving)
            row = rows[(events[at] - frame.first_transfer) // 2]
            at, row = at[row >= 0], row[row >= 0]
            own = frame.ops.rank[row] == ranks[at]
            if rows is pairing.receive and not frame.together:
                own &= (events[at] - frame.first_transfer) % 2 == 1  # drained may come before it
            least[at[own]] = np.maximum(least[at[own]], frame.done(row[own]))
        return least

    @property
    def exact(self) -> bool:
        """Whether `first_after` is exact, and not an upper bound."""
        return not self.graph.credits and self._all_happen and not len(self.model.weak)

    def told(self, events: IntArray) -> bool:
        """Whether `first_after` of events is what the guards say, also where not all happen."""
        return self.exact or (
            not self.graph.credits and not len(self.model.weak) and self._may_walk(events)
        )

    def _may_walk(self, events: IntArray) -> bool:
        return len(distinct(events)) * self.graph.size <= _WALKS

    # what a wait or a reply says

    def _soon(self, events: IntArray, ranks: IntArray) -> IntArray:
        """Return an upper bound of `first_after`: a direct wait, or a reply of the peer."""
        chain = self.frame.chain
        moment = self._earliest_wait[events]
        direct = (moment < NEVER) & (chain[np.where(moment < NEVER, moment, 0)] == ranks)
        found = np.where(direct, moment, NEVER)
        moving = (events >= self.frame.first_transfer) & (events < self.frame.events)
        far = np.flatnonzero(moving)
        found[far] = np.minimum(found[far], self._reply(events[far], ranks[far]))
        return found

    def _reply(self, events: IntArray, ranks: IntArray) -> IntArray:
        """Return when a rank has a message that its peer sent after it had received one."""
        frame, pairing = self.frame, self.frame.pairing
        transfers = (events - frame.first_transfer) // 2
        received = self._earliest_wait[frame.arrived(transfers)]
        known = (received < NEVER) & (pairing.send[transfers] >= 0)
        peer = np.where(known, frame.chain[np.where(known, received, 0)], -1)
        keys, posted, soonest = self._replies
        size = frame.events + 1
        own = peer * frame.ranks + ranks
        at = np.searchsorted(keys * size + posted, own * size + received)
        inside = (at < len(keys)) & known
        inside[inside] = keys[at[inside]] == own[inside]
        return np.where(inside, soonest[np.minimum(at, len(keys) - 1)] if len(keys) else 0, NEVER)

    @cached_property
    def _replies(self) -> tuple[IntArray, IntArray, IntArray]:
        """Senders and receivers of messages, their posts, and when they or later ones have come."""
        frame, pairing = self.frame, self.frame.pairing
        both = np.flatnonzero((pairing.send >= 0) & (pairing.receive >= 0))
        sender = frame.ops.rank[pairing.send[both]]
        receiver = frame.ops.rank[pairing.receive[both]]
        posted = frame.start(pairing.send[both])
        come = self._earliest_wait[frame.arrived(both)]
        key = sender * frame.ranks + receiver
        order = np.lexsort((posted, key))
        key, posted, come = key[order], posted[order], come[order]
        apart = key * (int(NEVER) + 1)  # so that no minimum reaches into the group before
        soonest = np.minimum.accumulate((come + apart)[::-1])[::-1] - apart
        return key, posted, soonest

    @cached_property
    def _earliest_wait(self) -> IntArray:
        """For each event of a transfer the first event of a program that waits for it directly."""
        graph, first = self.graph, self.frame.first_transfer
        onto = np.flatnonzero((graph.before >= first) & (graph.after < first))
        earliest = np.full(graph.size, NEVER, np.int64)
        order = np.argsort(graph.after[onto])[::-1]
        earliest[graph.before[onto][order]] = graph.after[onto][order]
        return earliest

    # exact

    def _exactly(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        if self.graph.credits:
            return self._thresholded(before, after)
        return self._by_guards(before, after)

    def _by_guards(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        if len(before) > _FEW:
            return self._followed(before, self.frame.chain[after]) <= after
        return self._walked(before, after)

    def _walked(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(before), np.bool_)
        for event in distinct(after).tolist():
            own = np.flatnonzero(after == event)
            found[own] = among(before[own], self.ancestors.of(np.asarray([event]), before[own]))
        return found

    def _thresholded(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """Ask thresholds too of what happens; of what never does, only the other guards."""
        happens = self._levels[after] >= 0
        found = np.zeros(len(before), np.bool_)
        found[happens] = self._dominated(before[happens], after[happens])
        found[~happens] = self._by_guards(before[~happens], after[~happens])
        return found

    def _dominated(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """With thresholds: what cannot happen while `before` is forbidden comes after it."""
        found = np.zeros(len(before), np.bool_)
        for event in distinct(before).tolist():
            never = self.graph.never.copy()
            never[event] = True
            happened = run(self.model, self.graph._replace(never=never)).happened
            own = before == event
            found[own] = ~happened[after[own]]
        return found

    @cached_property
    def _all_happen(self) -> bool:
        return bool(np.all(run(self.model, self.graph).happened))

    @cached_property
    def _levels(self) -> IntArray:
        return run(self.model, self.graph, rounds=True).level

    def _followed(self, events: IntArray, ranks: IntArray) -> IntArray:
        """Follow guards forwards to the first event of each rank's program, some at a time."""
        found = np.full(len(events), NEVER, np.int64)
        asked = distinct(ranks)
        for low in range(0, len(asked), _COLUMNS):
            columns = asked[low : low + _COLUMNS]
            own = np.flatnonzero(among(ranks, columns))
            first = self.reach.first(columns)
            found[own] = first[events[own], np.searchsorted(columns, ranks[own])]
        return found

    def _walked_to(self, events: IntArray, ranks: IntArray) -> IntArray:
        """Walk from events to the first one of each rank's program behind them, one by one."""
        found, chain = np.full(len(events), NEVER, np.int64), self.frame.chain
        turned = self.graph._replace(before=self.graph.after, after=self.graph.before)
        later = Ancestors(turned)
        for event in distinct(events).tolist():
            behind = later.of(np.asarray([event]))
            behind = behind[behind < self.frame.events]
            for each in np.flatnonzero(events == event).tolist():
                found[each] = min(behind[chain[behind] == ranks[each]], default=NEVER)
        return found
