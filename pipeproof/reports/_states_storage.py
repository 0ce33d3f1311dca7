"""What storage holds: slots and names of a file, else each value that lives on a rank."""

from collections.abc import Iterable, Iterator

import numpy as np

from pipeproof.ir.accesses import writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import ANY, IntArray
from pipeproof.ir.sets import distinct
from pipeproof.ir.storage import Stored, Touch, content_text, kept_code
from pipeproof.ir.values import NO_VALUE, ValueKind
from pipeproof.reports._states_words import by_event, short
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.holds import KINDS, memory

__all__ = ["Buffers", "Slots", "Values"]

_Told = Iterator[tuple[str, str]]
_VALUES = {KINDS.index("activations"): ValueKind.F, KINDS.index("gradients"): ValueKind.B}
_KEPT = KINDS.index("kept")


def _put_texts(frame: Frame, rows: IntArray, codes: IntArray) -> list[str]:
    """Return what each row puts down or reads in words; of a message, what is sent."""
    ops, pairing = frame.ops, frame.pairing
    received = np.flatnonzero(ops.is_kind(Kind.RECV)[rows] & frame.run.is_message[rows])
    received = received[codes[received] != NO_VALUE]
    send = pairing.send[pairing.of_row[rows[received]]]
    sent = np.where(send >= 0, ops.value[send], codes[received])
    known: dict[int, str] = {}

    def text(code: int) -> str:
        if code not in known:
            known[code] = short(content_text(ops, code)) if code >= 0 else ""
        return known[code]

    texts = [text(code) for code in codes.tolist()]
    for k in received[sent != codes[received]].tolist():
        other = int(ops.value[pairing.send[pairing.of_row[rows[k]]]])
        texts[k] = text(other) if codes[k] == ANY else f"{text(other)} taken for {texts[k]}"
    return texts


def _over(frame: Frame, rows: IntArray, moves: IntArray) -> IntArray:
    """Return when each access is over: the move of a message, else the end of its instruction."""
    ends = frame.done(rows)
    ends[moves] = frame.completed(rows[moves])
    return ends


class _Slot:
    """One storage: its content, who owns it, and who still reads it."""

    __slots__ = ("left", "sending", "source", "text", "word", "writing")

    def __init__(self) -> None:
        self.text = ""
        self.source = -1
        self.left = 0
        self.writing = -1
        self.sending = 0
        self.word = ""

    def told(self) -> str:
        if not self.text:
            return ""
        if self.writing >= 0:
            return f"{self.text}, {self.word}"
        if self.sending > 0:
            return f"{self.text}, in flight"
        return self.text if self.left > 0 else f"{self.text}, reusable"


class Slots:
    """Storage that has a name or is a slot.

    Owned by what writes it, in flight from the post of a transfer to its completion, else
    consumable, and reusable after its last reader.
    """

    group = "storage"

    def __init__(self, frame: Frame) -> None:
        """Look at the storage of `frame`, if any has a name."""
        self._frame = frame
        self._stored = frame.run.storage
        if self._stored is not None:
            self._prepare(self._stored)

    def _prepare(self, stored: Stored) -> None:
        frame, rows = self._frame, stored.rows
        freeing = stored.touch == Touch.FREE
        number = np.arange(len(stored))
        ends = _over(frame, rows, np.flatnonzero(stored.moves))
        self._starts = by_event(frame.start(rows[~freeing]), number[~freeing])
        self._ends = by_event(ends, number)
        self._touch = stored.touch.tolist()
        self._rows, self._of = rows.tolist(), stored.storage.tolist()
        self._source, self._moves = stored.source.tolist(), stored.moves.tolist()
        reads = np.flatnonzero((stored.touch == Touch.READ) & (stored.source >= 0))
        self._readers = np.bincount(stored.source[reads], minlength=len(stored)).tolist()
        self._slots = [_Slot() for _ in stored.labels]
        self._texts = _put_texts(frame, rows, stored.values)
        self._names = [short(label) for label in stored.labels]
        for storage, row in zip(self._of, self._rows, strict=True):
            self._names[storage] = f"r{int(frame.ops.rank[row])} {short(stored.labels[storage])}"

    def begins(self) -> _Told:
        stored = self._stored
        if stored is None:
            return
        given = (stored.touch == Touch.READ) & stored.given & (stored.source < 0)
        for k in np.flatnonzero(given).tolist():
            slot = self._slots[self._of[k]]
            if slot.text == "":
                slot.text = self._texts[k]
            slot.left += 1
        for storage in distinct(stored.storage[given]).tolist():
            yield self._names[storage], self._slots[storage].told()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._starts, self._ends) if self._stored is not None else ()

    def happens(self, event: int) -> _Told:
        for k in self._starts.get(event, ()):
            self._begin(k)
            yield self._told(k)
        for k in self._ends.get(event, ()):
            self._end(k)
            yield self._told(k)

    def _told(self, k: int) -> tuple[str, str]:
        storage = self._of[k]
        return self._names[storage], self._slots[storage].told()

    def _begin(self, k: int) -> None:
        slot = self._slots[self._of[k]]
        if self._touch[k] == Touch.WRITE:
            slot.text, slot.source, slot.writing = self._texts[k], k, k
            slot.left, slot.sending = self._readers[k], 0
            owner = short(self._frame.text(self._rows[k]))
            slot.word = "in flight" if self._moves[k] else f"owned by {owner}"
        elif self._moves[k] and self._is_of(slot, k):
            slot.sending += 1

    def _end(self, k: int) -> None:
        slot = self._slots[self._of[k]]
        if self._touch[k] == Touch.WRITE:
            slot.writing = -1 if slot.writing == k else slot.writing
        elif self._touch[k] == Touch.FREE:
            slot.text = ""
        elif self._is_of(slot, k):
            slot.left -= 1
            slot.sending -= bool(self._moves[k])

    def _is_of(self, slot: _Slot, k: int) -> bool:
        """Whether a read is of what the storage holds now, not of what stood there before."""
        return bool(slot.source == self._source[k])


class Values:
    """Values that live on a rank in storage of their own: from what puts them to all readers."""

    group = "storage"

    def __init__(self, frame: Frame) -> None:
        """Look at what is live on the ranks of `frame`, save what storage with a name holds."""
        self._frame = frame
        holds = memory(frame)
        codes = self._codes(holds.kind, holds.rows)
        chosen = np.flatnonzero((codes >= 0) & ~self._is_named(holds.rows, codes))
        rows = holds.rows[chosen]
        texts = _put_texts(frame, rows, codes[chosen])
        named = zip(chosen.tolist(), holds.rank[chosen].tolist(), texts, strict=True)
        self._names = {k: f"r{rank} {text}" for k, rank, text in named}
        self._starts = by_event(holds.start[chosen], chosen)
        moves = np.flatnonzero(frame.run.is_message[rows])
        self._received = set(chosen[moves].tolist())
        self._puts = by_event(_over(frame, rows, moves), chosen)
        self._left = np.bincount(holds.of, minlength=len(holds.rows)).tolist()
        own = np.zeros(len(holds.rows) + 1, np.bool_)
        own[chosen] = True
        self._ends = by_event(holds.ends[own[holds.of]], holds.of[own[holds.of]])
        self._live: dict[str, int] = {}

    def _codes(self, kinds: IntArray, rows: IntArray) -> IntArray:
        """Return what each hold holds as the code of a content, -1 for what is no value."""
        ops, puts = self._frame.ops, writes(self._frame.run)
        size = len(ops) + 1
        codes = np.full(len(rows), -1, np.int64)
        kept = np.flatnonzero((kinds == _KEPT) & (rows >= 0))
        codes[kept] = kept_code(ops.stage[rows[kept]], ops.microbatch[rows[kept]])
        key = (puts.values >> 56) * size + puts.rows
        order = np.argsort(key, kind="stable")
        for number, kind in _VALUES.items():
            own = np.flatnonzero((kinds == number) & (rows >= 0))
            at = np.searchsorted(key[order], int(kind) * size + rows[own])
            codes[own] = puts.values[order[at]] if len(own) else codes[own]
        return codes

    def _is_named(
        self, rows: IntArray, codes: IntArray
    ) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        stored = self._frame.run.storage
        if stored is None:
            return np.zeros(len(rows), np.bool_)
        put = np.flatnonzero(stored.touch == Touch.WRITE)
        pairs = set(zip(stored.rows[put].tolist(), stored.values[put].tolist(), strict=True))
        both = zip(rows.tolist(), codes.tolist(), strict=True)
        return np.fromiter((pair in pairs for pair in both), np.bool_, len(rows))

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._starts, self._puts, self._ends)

    def happens(self, event: int) -> _Told:
        for k in self._starts.get(event, ()):
            name = self._names[k]
            self._live[name] = self._live.get(name, 0) + 1
            yield name, "in flight" if k in self._received else "being written"
        for k in self._puts.get(event, ()):
            yield self._held(k)
        for k in self._ends.get(event, ()):
            self._left[k] -= 1
            if not self._left[k]:
                self._live[self._names[k]] -= 1
                yield self._held(k)

    def _held(self, k: int) -> tuple[str, str]:
        name = self._names[k]
        times = self._live[name]
        return name, "" if not times else "held" if times == 1 else f"held {times} times"


class Buffers:
    """Buffers that HOLD and DROP count."""

    group = "storage"

    def __init__(self, frame: Frame) -> None:
        """Look at the HOLDs and DROPs of `frame`."""
        self._frame = frame
        more = np.flatnonzero(frame.ops.is_kind(Kind.HOLD))
        fewer = np.flatnonzero(frame.ops.is_kind(Kind.DROP))
        self._more, self._fewer = (
            by_event(frame.start(more), more),
            by_event(frame.done(fewer), fewer),
        )
        self._held: dict[int, int] = {}

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._more, self._fewer)

    def happens(self, event: int) -> _Told:
        for sign, rows in ((1, self._more), (-1, self._fewer)):
            for row in rows.get(event, ()):
                rank = int(self._frame.ops.rank[row])
                count = int(self._frame.ops.attributes.get(row, {}).get("count", "1"))
                held = self._held[rank] = self._held.get(rank, 0) + sign * count
                yield f"r{rank} buffers held", str(held) if held else ""
