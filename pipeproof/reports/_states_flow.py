"""Where ranks stand, and what is on its way between them."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.reports._states_words import by_event, listed, short
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations.running import Meeting, meetings

__all__ = ["Channels", "Meetings", "Ranks", "Signals"]

_Told = Iterator[tuple[str, str]]


class Ranks:
    """The instruction that a rank is in, or that is its next one."""

    group = "ranks"

    def __init__(self, frame: Frame) -> None:
        """Look at the programs of `frame`."""
        self._frame = frame
        self._rank = frame.instruction_rank.tolist()
        self._texts: dict[int, str] = {}
        self._start = frame.run.rank_start.tolist()

    def begins(self) -> _Told:
        for rank in range(self._frame.ranks):
            yield f"r{rank}", self._before(self._start[rank], rank)

    def moments(self) -> Iterable[Iterable[int]]:
        return (range(self._frame.first_transfer),)

    def happens(self, event: int) -> _Told:
        frame = self._frame
        if event < frame.ends:
            number = event // 2
            rank = self._rank[number]
            after = event % 2
            yield f"r{rank}", self._before(number + 1, rank) if after else self._in(number)
        elif event < frame.first_transfer:
            yield f"r{event - frame.ends}", "at its end"

    def _before(self, number: int, rank: int) -> str:
        if number == self._start[rank + 1]:
            return "before its end"
        return f"before {self._told(number)}"

    def _in(self, number: int) -> str:
        return f"in {self._told(number)}"

    def _told(self, number: int) -> str:
        frame = self._frame
        if number not in self._texts:
            row = int(frame.ops.first_row[number])
            again = " of the second step" if frame.run.copy[row] else ""
            said = short(frame.instruction_text(number))
            self._texts[number] = f"{frame.position(row)}{again}: {said}"
        return self._texts[number]


class Channels:
    """Messages that are posted, on their way or awaited, by directed pair of ranks."""

    group = "channels"

    def __init__(self, frame: Frame) -> None:
        """Look at the messages of `frame`."""
        pairing, ops = frame.pairing, frame.ops
        self._frame = frame
        self._send, self._receive = pairing.send.tolist(), pairing.receive.tolist()
        self._channel = pairing.channel.tolist()
        sends, receives = np.flatnonzero(pairing.send >= 0), np.flatnonzero(pairing.receive >= 0)
        self._posts = by_event(frame.start(pairing.send[sends]), sends)
        self._asks = by_event(frame.start(pairing.receive[receives]), receives)
        self._sent: dict[int, OrderedDict[int, str]] = {}
        self._awaited: dict[int, OrderedDict[int, str]] = {}
        self._comms = len(ops.comms)
        self._values, self._texts = ops.value.tolist(), dict[int, str]()
        self._names: dict[int, str] = {}

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._posts, self._asks, range(self._frame.first_transfer, self._frame.events))

    def happens(self, event: int) -> _Told:
        frame = self._frame
        if event >= frame.first_transfer:
            number, arrived = divmod(event - frame.first_transfer, 2)
            yield self._arrives(number) if arrived else self._drains(number)
            return
        for number in self._posts.get(event, ()):
            self._queue(self._sent, number)[number] = f"{self._value(self._send[number])} posted"
            yield self._told(self._channel[number])
        for number in self._asks.get(event, ()):
            said = f"{self._value(self._receive[number])} awaited"
            self._queue(self._awaited, number)[number] = said
            yield self._told(self._channel[number])

    def _drains(self, number: int) -> tuple[str, str]:
        queue = self._queue(self._sent, number)
        if number in queue:
            queue[number] = f"{self._value(self._send[number])} on its way"
        return self._told(self._channel[number])

    def _arrives(self, number: int) -> tuple[str, str]:
        self._queue(self._sent, number).pop(number, None)
        self._queue(self._awaited, number).pop(number, None)
        return self._told(self._channel[number])

    def _queue(self, of: dict[int, OrderedDict[int, str]], number: int) -> OrderedDict[int, str]:
        return of.setdefault(self._channel[number], OrderedDict())

    def _value(self, row: int) -> str:
        code = self._values[row]
        if code not in self._texts:
            self._texts[code] = short(self._frame.ops.value_text(code))
        return self._texts[code]

    def _told(self, channel: int) -> tuple[str, str]:
        queues = (self._sent.get(channel), self._awaited.get(channel))
        parts = [listed(queue.values(), len(queue)) for queue in queues if queue]
        return self._name(channel), "; ".join(parts)

    def _name(self, channel: int) -> str:
        if channel not in self._names:
            ends, comm = divmod(channel, self._comms)
            source, destination = divmod(ends, self._frame.ranks)
            of = f" on {short(self._frame.ops.comms[comm])}" if comm else ""
            self._names[channel] = f"r{source}→r{destination}{of}"
        return self._names[channel]


class Signals:
    """Signals that an AWAIT is still to take."""

    group = "channels"

    def __init__(self, frame: Frame) -> None:
        """Look at the signals of `frame` that an AWAIT pairs with."""
        ops = frame.ops
        signals, awaits, _ = pair_signals(frame.run)
        self._rank, self._peer = ops.rank.tolist(), ops.peer.tolist()
        self._given = by_event(frame.start(signals), signals)
        self._taken = by_event(frame.done(awaits), awaits)
        self._open: dict[str, int] = {}

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._given, self._taken)

    def happens(self, event: int) -> _Told:
        for row in self._given.get(event, ()):
            yield self._count(self._rank[row], self._peer[row], 1)
        for row in self._taken.get(event, ()):
            yield self._count(self._peer[row], self._rank[row], -1)

    def _count(self, source: int, destination: int, change: int) -> tuple[str, str]:
        name = f"signals r{source}→r{destination}"
        left = self._open[name] = self._open.get(name, 0) + change
        return name, f"{left} not taken" if left else ""


class Meetings:
    """Collectives that some of their ranks have entered, and not all."""

    group = "channels"

    def __init__(self, frame: Frame) -> None:
        """Look at the collectives of `frame`."""
        self._frame = frame
        self._meetings = meetings(frame)
        self._of = {row: n for n, each in enumerate(self._meetings) for row in each.entries}
        rows = np.asarray(sorted(self._of), np.int64)
        self._enters = by_event(frame.start(rows), rows)
        self._names = [self._name(each) for each in self._meetings]
        self._inside: dict[str, OrderedDict[int, list[int]]] = {}

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._enters,)

    def happens(self, event: int) -> _Told:
        for row in self._enters.get(event, ()):
            number = self._of[row]
            name = self._names[number]
            inside = self._inside.setdefault(name, OrderedDict())
            inside.setdefault(number, []).append(int(self._frame.ops.rank[row]))
            if len(inside[number]) == len(set(self._meetings[number].ranks)):
                del inside[number]
            yield name, "; ".join(map(self._entered, inside.values()))

    def _entered(self, ranks: list[int]) -> str:
        return f"entered by {listed((f'r{rank}' for rank in sorted(ranks)), len(ranks))}"

    def _name(self, meeting: Meeting) -> str:
        ops, row = self._frame.ops, meeting.entries[0]
        said = ops.attributes.get(row, {})
        is_tie = ops.kind[row] == Kind.TIE
        word = f"TIE {said.get('param', '')}".rstrip() if is_tie else f"COLL {said.get('name', '')}"
        comm = int(ops.comm[row])
        on = f" on {ops.comms[comm]}" if comm else ""
        ranks = listed((f"r{rank}" for rank in sorted(set(meeting.ranks))), len(meeting.ranks))
        return f"{short(word + on)} of {ranks}"
