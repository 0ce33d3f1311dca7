"""The events of a schedule as run, read anew: which send meets which receive, and by what name."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match
from pipeproof.verdict.verdict import TraceStep

__all__ = ["Events", "Transfer"]


class Transfer:
    """A message: the rows of its ends, -1 for one that is not there."""

    __slots__ = ("receive", "send")

    def __init__(self, send: int, receive: int) -> None:
        self.send, self.receive = send, receive


class Events:
    """Events by number, as certificates number them: instructions, ends of programs, messages."""

    def __init__(self, run: AsRun, match: Match) -> None:
        """Number the events of a schedule.

        Args:
            run: the schedule as run.
            match: what pairs a send with a receive.
        """
        ops = run.operations
        self.run, self.match = run, match
        self.instructions = int(run.rank_start[-1])
        self.ends = 2 * self.instructions
        self.first_transfer = self.ends + run.schedule.ranks
        firsts = [*ops.first_row.tolist(), len(ops)]
        self.rows = [range(*pair) for pair in pairwise(firsts)]
        self.transfers = _paired(run, match)
        self.sent = {each.send: n for n, each in enumerate(self.transfers) if each.send >= 0}
        self.received = {
            each.receive: n for n, each in enumerate(self.transfers) if each.receive >= 0
        }
        self._lengths = [0] * run.schedule.ranks
        written = run.schedule.operations
        for rank, position in zip(written.rank.tolist(), written.position.tolist(), strict=True):
            self._lengths[rank] = max(self._lengths[rank], position + 1)

    def __len__(self) -> int:
        return self.first_transfer + 2 * len(self.transfers)

    def position(self, row: int) -> int:
        """Return where a row, or what it was lowered beside, stands in its program as written."""
        written = int(self.run.written[row])
        return int(self.run.schedule.operations.position[written]) if written >= 0 else 0

    def running_position(self, row: int) -> int:
        """Return a position that runs on over the copies of a program."""
        rank = int(self.run.operations.rank[row])
        return self.position(row) + int(self.run.copy[row]) * self._lengths[rank]

    def length(self, rank: int) -> int:
        """Return how many instructions a rank's program has as written."""
        return self._lengths[rank]

    def of_steps(self, steps: Iterable[TraceStep]) -> tuple[int, ...]:
        """Return the events of an execution that is told in words.

        A rank's instructions happen in the order of its program, so that they are counted; a
        message is known by its value and by where the end that it is told of stands.

        Raises:
            ReplayMismatchError: there is no such event in the schedule.
        """
        reading = _Words(self)
        return tuple(reading.event(step) for step in steps)

    def require_order(self, order: Iterable[int]) -> None:
        """Check what no transport changes: a rank's program is run in its order.

        A message leaves after its send is posted, and arrives after that and its receive.

        Raises:
            ReplayMismatchError: one of the events cannot happen where it stands.
        """
        happened: set[int] = set()
        for event in order:
            if not happened.issuperset(self._needed(event)):
                message = f"event {event} cannot happen where the execution says that it does"
                raise ReplayMismatchError(message)
            happened.add(event)

    def _needed(self, event: int) -> Iterable[int]:
        """Yield what comes before an event in every execution."""
        if event < self.ends:
            if event % 2 or event // 2 not in self.run.rank_start:
                yield event - 1
        elif event < self.first_transfer:
            first, last = self.run.rank_start[event - self.ends : event - self.ends + 2].tolist()
            if first < last:
                yield 2 * last - 1
        else:
            number, arrives = divmod(event - self.first_transfer, 2)
            transfer = self.transfers[number]
            if transfer.send >= 0:
                yield event - 1 if arrives else self.started(transfer.send)
            if arrives and transfer.receive >= 0:
                yield self.started(transfer.receive)

    def started(self, row: int) -> int:
        """Return the event with which a row is posted."""
        first_row = self.run.operations.first_row
        return 2 * (int(np.searchsorted(first_row, row, side="right")) - 1)

    def text(self, row: int) -> str:
        """Return an operation in the words of its author, or of its framework."""
        return self.run.spelled.text(int(self.run.base[row]))


class _Words:
    """Reads a trace, step by step."""

    def __init__(self, events: Events) -> None:
        self.events = events
        starts: list[int] = list(map(int, events.run.rank_start.tolist()))
        self.next: dict[str, list[int]] = {"start": starts[:-1], "done": starts[:-1]}
        self.last: list[int] = starts[1:]
        self.told: set[int] = set()

    def event(self, step: TraceStep) -> int:
        events, ranks = self.events, self.events.run.schedule.ranks
        if step.phase in ("drained", "arrived"):
            return self._moved(step)
        if not 0 <= step.rank < ranks or step.phase not in self.next:
            raise _unknown(step)
        number = self.next[step.phase][step.rank]
        if number >= self.last[step.rank]:
            if step.phase == "start":
                raise _unknown(step)
            return events.ends + step.rank
        self.next[step.phase][step.rank] += 1
        row = int(events.run.operations.first_row[number])
        if events.running_position(row) != step.position:
            raise _unknown(step)
        return 2 * int(number) + (step.phase == "done")

    def _moved(self, step: TraceStep) -> int:
        events, ops = self.events, self.events.run.operations
        arrived = step.phase == "arrived"
        for number, each in enumerate(events.transfers):
            row = each.receive if arrived or each.send < 0 else each.send
            event = events.first_transfer + 2 * number + arrived
            made = each.send if each.send >= 0 else each.receive
            told = (ops.value_text(int(ops.value[made])), int(ops.rank[row]))
            there = events.running_position(row) == step.position
            if there and event not in self.told and told == (step.event, step.rank):
                self.told.add(event)
                return event
        raise _unknown(step)


def _unknown(step: TraceStep) -> ReplayMismatchError:
    message = (
        f"the schedule has no {step.phase} of {step.event} at {step.position} of rank {step.rank}"
    )
    return ReplayMismatchError(message)


def _paired(run: AsRun, match: Match) -> Sequence[Transfer]:
    """Pair the k-th send of a channel with its k-th receive; by tag, the k-th of each value."""
    ops = run.operations
    waiting: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    sends: list[tuple[int, tuple[int, ...]]] = []
    for row in run.is_message.nonzero()[0].tolist():
        rank, peer = int(ops.rank[row]), int(ops.peer[row])
        is_send = int(ops.kind[row]) == Kind.SEND
        ends = (rank, peer) if is_send else (peer, rank)
        tag = (int(ops.value[row]),) if match is Match.TAG else ()
        channel = (*ends, int(ops.comm[row]), *tag)
        if is_send:
            sends.append((row, channel))
        else:
            waiting[channel].append(row)
    paired: list[Transfer] = []
    alone: list[Transfer] = []
    for row, channel in sends:
        queue = waiting[channel]
        (paired if queue else alone).append(Transfer(row, queue.popleft() if queue else -1))
    left = sorted(row for queue in waiting.values() for row in queue)
    return [*paired, *alone, *(Transfer(-1, row) for row in left)]
