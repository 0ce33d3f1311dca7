"""One rank at work: it executes its own program, and its messages are those of torch."""

import math
import time
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, distributed

from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import NOTHING, flat, same
from pipeproof.execution._touches import Touched
from pipeproof.execution.ranks._forms import Form, form
from pipeproof.execution.ranks._parcel import END, OVER, Part, Seen, Story, unpacked
from pipeproof.execution.ranks._pinned import Pinned
from pipeproof.execution.ranks._wire import Moving, Wire
from pipeproof.execution.ranks.processes import Report
from pipeproof.execution.replayer import Met, Replayer
from pipeproof.execution.witness import WIDTH
from pipeproof.ir.actions import Kind
from pipeproof.ir.storage import content_text

__all__ = ["play"]

_PATIENCE = 0.05  # how long a receive waits before what is to be sent leaves
_GRACE = 0.5  # how long what is under way may take once all have come through
_PROBE = 1.0
_POLL = 0.02


def play(sent: bytes, report: Report) -> Story:
    """Play the rank of this process; a target of `Processes.call`."""
    return _Player(unpacked(sent), distributed.get_rank(), report).perform()


class _Player(Replayer):
    """Runs the events of one rank, in the order of its program."""

    def __init__(self, part: Part, rank: int, report: Report) -> None:
        super().__init__(part.run, part.match, part.model, late=part.pace.late)
        self.part, self.rank, self.report = part, rank, report
        self.pinned = Pinned(part.model.dtype)
        self.memory = self.compute.memory = self.pinned
        self.wire = Wire(self.ops, part.run.schedule.ranks, part.match)
        self.at: int | None = None
        self._moving: dict[int, Moving] = {}
        self._arriving: dict[int, Moving] = {}
        self._sending: dict[int, Moving] = {}
        self._leaving: list[int] = []
        self._times: list[int] = []

    def perform(self) -> Story:
        """Run the whole program."""
        first, last = map(int, self.run.rank_start[self.rank : self.rank + 2].tolist())
        for instruction in range(first, last):
            self._stand(instruction)
            if self.part.pace.slow == self.rank:
                time.sleep(self.part.pace.pause)
            self._look_around()
            for event in (2 * instruction, 2 * instruction + 1):
                self._passes(event, self.events.rows[instruction])
        self._stand(END)
        self._complete(self.events.ends + self.rank)
        self._program_ends(self.events.ends + self.rank, self.rank)
        return self._over()

    def _stand(self, at: int) -> None:
        self.at = at
        self.report(self._story().line())

    def _passes(self, event: int, rows: range) -> None:
        """Let a start or an end happen, once what it waits for is complete."""
        self._complete(event)
        self.happened.append(event)
        if event % 2:
            self._done(event, rows)
            self._times.append(time.monotonic_ns())
            return
        self._times.append(time.monotonic_ns())
        for row in rows:
            self._begin(event, row)
            self._enter(row, Kind(int(self.ops.kind[row])))

    def _enter(self, row: int, kind: Kind) -> None:
        if kind is Kind.COLL:
            entered = self.wire.call(row, whole=self.part.whole)
            if entered is not None:
                self._moving[row] = entered
        elif kind is Kind.SIGNAL:
            self._moving[row] = self.wire.signal(row)
        elif kind is Kind.AWAIT:
            self._await(self.wire.signal(row))

    def _posts(self, event: int, row: int) -> None:
        super()._posts(event, row)
        if int(self.ops.kind[row]) == Kind.RECV:
            self._moving[row] = self._arriving[row] = self.wire.receive(row, self._destination(row))
        elif not self.part.buffered:
            self._moving[row] = self._sending[row] = self.wire.send(row, self._source(row))
        else:
            self._leaving.append(row)
            if not self.part.pace.late:
                self._leave()

    # what is sent

    def _form(self, row: int) -> Form:
        """Return in which form a message stands at one of its ends."""
        sends = int(self.ops.kind[row]) == Kind.SEND
        number = (self.events.sent if sends else self.events.received)[row]
        each = self.events.transfers[number]
        other = each.receive if sends else each.send
        said = self.asked.said(other) if other >= 0 else {}
        size = self.reference.value(int(self.ops.value[row])).numel()
        return form(self.asked.said(row), said, size, self.witness.dtype, sends=sends)

    def _source(self, row: int) -> Tensor:
        """Return the memory that a send reads while it is under way."""
        own = self._form(row)
        for each in self.touches.reads[row]:
            cell = self.memory.cell(each.key)
            if each.given and not cell.touched:
                return own.laid(self.reference.value(each.value), WIDTH)
            room = self.pinned.room(each.key, own.size)
            plain = own.dtype == self.witness.dtype and not own.turned
            return room if plain else own.laid(room, WIDTH)
        return own.laid(torch.zeros(0), WIDTH)

    def _leave(self, last: int | None = None) -> None:
        """Let what is to be sent leave its storage, in the order in which it was posted.

        With `last` only that send, and those posted before it.
        """
        count = len(self._leaving) if last is None else self._leaving.index(last) + 1
        leaving, self._leaving = self._leaving[:count], self._leaving[count:]
        for row in leaving:
            number = self.events.sent[row]
            self._drains(self.events.first_transfer + 2 * number, number, row)
            message = self._messages.pop(number, None)
            data = torch.zeros(0) if message is None else message.data
            self._moving[row] = self.wire.send(row, self._form(row).laid(data, WIDTH))

    # what is received

    def _destination(self, row: int) -> Tensor:
        own = self._form(row)
        for each in self.touches.writes[row]:
            room = self.pinned.widen(each.key, own.size)
            return room if own.dtype == room.dtype else own.laid(room, WIDTH)
        return own.laid(torch.zeros(0), WIDTH)

    def _look_around(self) -> None:
        """Note what has moved in the meantime."""
        for row in [row for row, moving in self._sending.items() if moving.is_over()]:
            self._left(row)
        for row in [row for row, moving in self._arriving.items() if moving.is_over()]:
            self._arrived(row, waited=False)

    def _complete(self, event: int) -> None:
        """Wait for all that is complete at a moment."""
        for row in self.part.waits.get(event, ()):
            if row in self._leaving:
                self._leave(row)
            moving = self._moving.get(row)
            if moving is None or (self.part.buffered and row in self.events.sent):
                continue
            self._await(moving)
            if row in self._arriving:
                self._arrived(row, waited=True)
            elif row in self.events.sent:
                self._left(row)

    def _await(self, moving: Moving) -> None:
        if self._leaving and not moving.is_over(_PATIENCE):
            self._leave()
        moving.end()

    def _left(self, row: int) -> None:
        """Note that a send has been received."""
        if self._sending.pop(row, None) is None:
            return
        number = self.events.sent[row]
        for each in self.touches.reads[row]:
            self.memory.cell(each.key).readers.discard(number)
        self._take(row)

    def _arrived(self, row: int, *, waited: bool) -> None:
        moving = self._arriving.pop(row)
        moving.end()
        number = self.events.received[row]
        send = self.events.transfers[number].send
        for each in self.touches.writes[row]:
            cell = self.memory.cell(each.key)
            cell.writers.discard(number)
            if waited or cell.by == row:
                data = flat(moving.memory).to(self.witness.dtype)
                if moving.memory.dtype != data.dtype:
                    self.pinned.widen(each.key, len(data)).copy_(data)
                self._holds(row, send, each, data)

    def _holds(self, row: int, send: int, each: Touched, data: Tensor) -> None:
        """Compare what has arrived with what was asked for, and stamp it by its numbers."""
        cell, wanted = self.memory.cell(each.key), flat(self.reference.value(each.value))
        event = self.events.first_transfer + 2 * self.events.received[row] + 1
        sent = int(self.ops.value[send]) if send >= 0 else NOTHING
        right = same(data, wanted)
        self.compared += 1
        if cell.by != row:
            cell.overwritten.append(row)
        if right:
            cell.value, cell.by, cell.touched = each.value, row, True
        elif cell.by == row:
            crossed = sent != NOTHING and same(data, flat(self.reference.value(sent)))
            cell.value = sent if crossed else NOTHING
        if right and sent in (NOTHING, each.value):
            return
        places = [Place(row), *map(Place, self.memory.culprits(each.key))]
        places += [Place(send)] if send >= 0 else []
        crossed = sent not in (NOTHING, each.value)
        fault = Fault.CROSSED if crossed else Fault.OTHER
        expected = content_text(self.ops, each.value)
        found = content_text(self.ops, sent) if crossed else "other numbers"
        own = tuple(place for place in places if place.row >= 0)
        self._meet(event, row, [Illegal(fault, own, expected, found, visible=not right)])

    # what is told

    def _meet(self, event: int, row: int, wrong: Iterable[Illegal]) -> None:
        before = len(self.met)
        super()._meet(event, row, (self._with_ends(row, illegal) for illegal in wrong))
        if len(self.met) > before:
            self.report(self._story().line())

    def _with_ends(self, row: int, illegal: Illegal) -> Illegal:
        """Name the messages that still move where a storage is given back."""
        if illegal.fault is not Fault.IN_FLIGHT or row not in self.touches.frees:
            return illegal
        cell = self.memory.cell(self.touches.frees[row])
        moving = [self.events.transfers[number] for number in (*cell.readers, *cell.writers)]
        ends = [Place(end) for each in moving for end in (each.send, each.receive) if end >= 0]
        return illegal._replace(places=(*illegal.places, *ends))

    def _story(self) -> Story:
        left = self._messages_among(self._left_over()) if self.at == OVER else ()
        return Story(self.at, tuple(map(_seen, self.met)), left=left)

    def _over(self) -> Story:
        """Return what was met, and what is still under way once every rank has come through."""
        if self._leaving:
            self._leave()
        self.at = OVER
        self.report(self._story().line())
        everybody = self.wire.end()
        while self._left_over() and not everybody.is_over(_POLL):
            pass
        end = time.monotonic() + _GRACE
        while (left := self._left_over()) and time.monotonic() < end:
            time.sleep(_POLL)
        self._look_around()
        statistics = self.registers.statistics(self.reference)
        return Story(
            self.at,
            tuple(map(_seen, self.met)),
            self.compared,
            math.inf if self.ratio is None else self.ratio,
            self._messages_among(left),
            tuple(self._strays()),
            tuple(f"the statistics of stage {s} differ" for s, right, _ in statistics if not right),
            dirty=bool(left),
            moments=tuple(self._moments()),
        )

    def _moments(self) -> Iterator[tuple[int, int, int]]:
        """Yield each instruction of the program, which has ended, and its two moments."""
        first = int(self.run.rank_start[self.rank])
        for n in range(0, len(self._times), 2):
            yield first + n // 2, self._times[n], self._times[n + 1]

    def _left_over(self) -> list[int]:
        return [row for row, moving in sorted(self._moving.items()) if not moving.is_over()]

    def _messages_among(self, rows: Iterable[int]) -> tuple[int, ...]:
        return tuple(row for row in rows if bool(self.run.is_message[row]))

    def _strays(self) -> Iterator[int]:
        """Yield messages that nobody received, and that one more receive finds here."""
        for row in self.part.strays:
            if int(self.ops.peer[row]) != self.rank:
                continue
            wanted = self.reference.value(int(self.ops.value[row]))
            moving = self.wire.find(row, torch.full_like(flat(wanted), torch.nan))
            if moving.is_over(_PROBE) and same(moving.memory, wanted):
                yield row


def _seen(met: Met) -> Seen:
    illegal = met.illegal
    if illegal is None:
        return Seen(met.text, None, (), (met.updated,) if met.updated >= 0 else (), visible=True)
    said = f"{met.text}: {illegal.fault.value}: {illegal.found} instead of {illegal.expected}"
    rows = tuple(place.row for place in illegal.places if place.row >= 0)
    stages = tuple(sorted({place.stage for place in illegal.places if place.stage >= 0}))
    return Seen(said, illegal.fault, rows, stages, illegal.visible)
