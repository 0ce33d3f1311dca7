"""A state of the search over orders: what ready ranks have picked, and how far all is then."""

import dataclasses
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.sets import among
from pipeproof.ir.transport import Match, Queue, Transport
from pipeproof.lowering.outcomes import kept
from pipeproof.lowering.ready import Rank, row_order
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model

__all__ = ["Channel", "Fixed", "Moment", "Paired", "Reordered", "State", "channel_of"]

Channel = tuple[int, ...]
_Lines = Mapping[Channel, list[int]]


class State(NamedTuple):
    """What each ready rank has picked, in order.

    `timed` says that one pick rests on a message that is late, `over` which ranks have had more
    forwards live than the bound allows.
    """

    picks: tuple[tuple[int, ...], ...]
    timed: bool = False
    over: frozenset[int] = frozenset()


def channel_of(run: AsRun, row: int, match: Match) -> Channel:
    """Return what pairs a message: its channel, and its value where messages pair by tag."""
    ops = run.operations
    sends = ops.kind[row] == Kind.SEND
    rank, peer = int(ops.rank[row]), int(ops.peer[row])
    ends = (rank, peer) if sends else (peer, rank)
    return (*ends, int(ops.comm[row]), int(ops.value[row]) if match is Match.TAG else 0)


class Moment(ABC):
    """How far everything is where all but the picks of ready ranks has gone as far as it can."""

    run: AsRun
    transport: Transport
    state: State

    @abstractmethod
    def is_done(self, instruction: int) -> bool:
        """Whether an instruction of the schedule has been picked and has ended."""

    @abstractmethod
    def is_complete(self, row: int) -> bool:
        """Whether a message has been posted and is complete for its own rank."""

    @abstractmethod
    def is_started(self, row: int) -> bool:
        """Whether the instruction of a row has started."""

    @abstractmethod
    def is_posted(self, row: int, before: int = 0) -> bool:
        """Whether the message of a receive that is not picked yet has been posted.

        `before` receives of its channel are picked together with it and stand before it.
        """

    @abstractmethod
    def past(self, contested: frozenset[Channel]) -> object:
        """Return what has happened, and in which order where that may matter later."""

    def is_between(self, picks: tuple[int, ...]) -> bool:
        """Whether a ready rank stands between two instructions."""
        return not picks or self.is_done(picks[-1])

    def is_open(self, row: int) -> bool:
        """Whether a message has been posted and is not complete for its own rank."""
        return self.is_started(row) and not self.is_complete(row)


class Reordered(Moment):
    """A moment of the schedule in which ready ranks run what they picked, and no more."""

    def __init__(
        self,
        run: AsRun,
        transport: Transport,
        ranks: Sequence[Rank],
        state: State,
        furthest: Callable[[Model], npt.NDArray[np.bool_]],
    ) -> None:
        self.run, self.transport, self.state = run, transport, state
        order = {rank.rank: picks for rank, picks in zip(ranks, state.picks, strict=True)}
        self._rows = row_order(run, order)
        now = dataclasses.replace(kept(run, self._rows, bare=True), settled=True)
        model = Model(now, transport, write_in(now, transport.wait))
        self._frame = model.frame
        self._happened = furthest(model)
        self._place = np.full(len(run.operations), -1, np.int64)
        self._place[self._rows] = np.arange(len(self._rows))

    def is_done(self, instruction: int) -> bool:
        place = self._place[self.run.operations.first_row[instruction]]
        return place >= 0 and bool(self._happened[self._frame.done(place)])

    def is_complete(self, row: int) -> bool:
        place = self._place[row]
        return place >= 0 and bool(self._happened[self._frame.completed(place)])

    def is_started(self, row: int) -> bool:
        place = self._place[row]
        return place >= 0 and bool(self._happened[self._frame.start(place)])

    def is_posted(self, row: int, before: int = 0) -> bool:
        channel = channel_of(self.run, row, self.transport.match)
        sends = self._channels[0].get(channel, [])
        number = len(self._channels[1].get(channel, [])) + before
        if number >= len(sends):
            return False
        return bool(self._happened[self._frame.start(np.asarray(sends[number]))])

    def past(self, contested: frozenset[Channel]) -> object:
        """Return what has happened.

        And what has not come yet, in the order in which it was posted, and the order on each
        channel on which several ends could be paired in another way.
        """
        ops, frame = self.run.operations, self._frame
        own = ops.instruction[self._rows[frame.ops.first_row]]
        events = np.zeros(2 * len(ops.first_row), np.bool_)
        events[2 * own] = self._happened[0 : frame.ends : 2]
        events[2 * own + 1] = self._happened[1 : frame.ends : 2]
        sent = np.flatnonzero(frame.run.is_message)
        arrived = self._happened[frame.arrived(frame.pairing.of_row[sent])]
        lines = tuple(
            tuple(self._rows[rows].tolist())
            for side in self._channels
            for channel, rows in sorted(side.items())
            if channel in contested
        )
        return events.tobytes(), tuple(self._rows[sent[~arrived]].tolist()), lines

    @cached_property
    def _channels(self) -> tuple[_Lines, _Lines]:
        """The sends and the receives of each channel in order, as rows of the moment."""
        sends, receives = (
            defaultdict[Channel, list[int]](list),
            defaultdict[Channel, list[int]](list),
        )
        ops, match = self._frame.ops, self.transport.match
        for row in np.flatnonzero(self._frame.run.is_message).tolist():
            side = sends if ops.kind[row] == Kind.SEND else receives
            side[channel_of(self._frame.run, row, match)].append(row)
        return sends, receives


class Fixed:
    """The guards of a schedule in which the order of picks pairs and holds back no message.

    Those of ready ranks' programs are left out: the picks say what comes next. Where every message
    is complete before its rank goes on, no queue holds back what programs do not.
    """

    def __init__(self, run: AsRun, transport: Transport, ranks: Sequence[Rank]) -> None:
        way = dataclasses.replace(transport, queue=Queue.NONE)
        model = Model(run, way, write_in(run, way.wait))
        self.run, self.transport, self.frame = run, transport, model.frame
        graph, frame = model.progress, model.frame
        chain = np.append(frame.chain, np.full(graph.size - frame.events, -1))
        picked = among(chain, [rank.rank for rank in ranks])
        ended = (graph.before < frame.ends) & (graph.before % 2 == 1)
        keep = ~(ended & picked[graph.before] & (chain[graph.before] == chain[graph.after]))
        self.after: list[list[int]] = [[] for _ in range(graph.size)]
        for left, right in zip(
            graph.before[keep].tolist(), graph.after[keep].tolist(), strict=True
        ):
            self.after[left].append(right)
        waiting = np.bincount(graph.after[keep], minlength=graph.size) + graph.never
        starts = np.arange(0, frame.ends, 2)
        waiting[starts[picked[starts]]] += 1
        self.waiting: list[int] = waiting.tolist()
        self.first: list[int] = np.flatnonzero(waiting == 0).tolist()


class Paired(Moment):
    """A moment of a schedule whose guards are fixed."""

    def __init__(self, fixed: Fixed, state: State) -> None:
        self.run, self.transport, self.state = fixed.run, fixed.transport, state
        self._fixed = fixed
        follows = {a: b for picks in state.picks for a, b in pairwise(picks)}
        waiting, after = fixed.waiting.copy(), fixed.after
        happened = bytearray(len(waiting))
        todo = fixed.first.copy()
        for picks in state.picks:
            if picks:
                waiting[2 * picks[0]] -= 1
                todo += [2 * picks[0]] if not waiting[2 * picks[0]] else []
        while todo:
            event = todo.pop()
            happened[event] = 1
            further = after[event]
            own = follows.get(event // 2) if event % 2 and event < fixed.frame.ends else None
            for each in further if own is None else [*further, 2 * own]:
                waiting[each] -= 1
                if not waiting[each]:
                    todo.append(each)
        self._happened = happened

    def is_done(self, instruction: int) -> bool:
        return self._happened[2 * instruction + 1] == 1

    def is_complete(self, row: int) -> bool:
        return self._happened[int(self._fixed.frame.completed(np.asarray(row)))] == 1

    def is_started(self, row: int) -> bool:
        return self._happened[2 * int(self.run.operations.instruction[row])] == 1

    def is_posted(self, row: int, before: int = 0) -> bool:
        pairing = self._fixed.frame.pairing
        sender = int(pairing.send[pairing.of_row[row]])
        return sender >= 0 and self.is_started(sender)

    def past(self, contested: frozenset[Channel]) -> object:
        return bytes(self._happened)
