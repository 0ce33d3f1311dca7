"""What storage holds: slots and names of a file, else each value that lives on a rank."""

from collections.abc import Iterable, Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.sets import distinct
from pipeproof.ir.storage import Stored, Touch
from pipeproof.ir.values import ValueKind
from pipeproof.reports._states_values import over, put_texts
from pipeproof.reports._states_words import by_event, short
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.holds import KINDS

__all__ = ["Buffers", "Slots"]

_Told = Iterator[tuple[str, str]]
_VALUES = {KINDS.index("activations"): ValueKind.F, KINDS.index("gradients"): ValueKind.B}
_KEPT = KINDS.index("kept")


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
        ends = over(frame, rows, np.flatnonzero(stored.moves))
        self._starts = by_event(frame.start(rows), number)
        self._ends = by_event(ends[~freeing], number[~freeing])
        self._touch = stored.touch.tolist()
        self._rows, self._of = rows.tolist(), stored.storage.tolist()
        self._source, self._moves = stored.source.tolist(), stored.moves.tolist()
        reads = np.flatnonzero((stored.touch == Touch.READ) & (stored.source >= 0))
        self._readers = np.bincount(stored.source[reads], minlength=len(stored)).tolist()
        self._slots = [_Slot() for _ in stored.labels]
        self._texts = put_texts(frame, rows, stored.values)
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
        elif self._touch[k] == Touch.FREE:
            slot.text = ""
        elif self._moves[k] and self._is_of(slot, k):
            slot.sending += 1

    def _end(self, k: int) -> None:
        slot = self._slots[self._of[k]]
        if self._touch[k] == Touch.WRITE:
            slot.writing = -1 if slot.writing == k else slot.writing
        elif self._is_of(slot, k):
            slot.left -= 1
            slot.sending -= bool(self._moves[k])

    def _is_of(self, slot: _Slot, k: int) -> bool:
        """Whether a read is of what the storage holds now, not of what stood there before."""
        return bool(slot.source == self._source[k])


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
