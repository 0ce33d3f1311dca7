"""States as rows of words: one bit an event, in the order in which events tend to happen."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from pipeproof.engines._explore_guards import System, Walk

__all__ = ["Bools", "Rows", "Words", "distinct_rows"]

Rows = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

_WORD = 64


class Words:
    """Where the bit of each event stands, and the guards as masks.

    What happens early has the low bits, so that of the words of a layer few differ. The bit behind
    all events marks states in which weak messages are moving.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        walk = Walk(system)
        walk.run()
        late = [e for e in range(system.events) if not walk.happened[e]]
        self._event = [*walk.order, *late]
        self.place = [0] * system.events
        for place, event in enumerate(self._event):
            self.place[event] = place
        self.moving = system.events
        self.width = system.events // _WORD + 1
        gates: dict[int, tuple[int, bool]] = {}
        asked = [self._asked(event, gates) for event in range(system.events)]
        self.needs = np.asarray([self._row(mask) for mask, _ in asked], np.uint64)
        self.never = np.asarray([never for _, never in asked], np.bool_)
        self.word = np.asarray(self.place, np.int64) // _WORD
        self.bit = np.uint64(1) << (np.asarray(self.place, np.uint64) % np.uint64(_WORD))

    def has(self, rows: Rows, event: int) -> Bools:
        """Return in which rows an event has happened."""
        return np.asarray(rows[:, self.word[event]] & self.bit[event] != 0)

    def flags(self, rows: Rows) -> Bools:
        """Return which events have happened in each row, shape `(rows, events)`."""
        return np.asarray(rows[:, self.word] & self.bit != 0)

    def is_moving(self, rows: Rows) -> Bools:
        """Return in which rows weak messages are moving."""
        return np.asarray(rows[:, -1] >> np.uint64(self.moving % _WORD) & np.uint64(1) != 0)

    def set_moving(self, rows: Rows, *, moving: bool) -> Rows:
        """Return the rows with the mark set or taken away."""
        changed = rows.copy()
        mark = np.uint64(1) << np.uint64(self.moving % _WORD)
        changed[:, -1] = changed[:, -1] | mark if moving else changed[:, -1] & ~mark
        return changed

    def mask(self, events: Iterable[int]) -> Rows:
        """Return a row with the bits of `events`."""
        return self._row(sum(1 << self.place[e] for e in set(events)))

    def events(self, row: Rows) -> list[int]:
        """Return the events that have happened in a row."""
        flags = np.unpackbits(row.view(np.uint8), bitorder="little")[: self._system.events]
        return [self._event[place] for place in np.flatnonzero(flags).tolist()]

    def rows(self, states: Sequence[int]) -> Rows:
        """Return states that `numbers` wrote as rows."""
        size = self.width * _WORD // 8
        raw = b"".join(state.to_bytes(size, "little") for state in states)
        found: Rows = np.frombuffer(raw, "<u8").astype(np.uint64).reshape(-1, self.width)
        return found

    def numbers(self, rows: Rows) -> tuple[int, ...]:
        """Return rows as integers."""
        raw = rows.astype("<u8").tobytes()
        size = self.width * _WORD // 8
        return tuple(
            int.from_bytes(raw[low : low + size], "little") for low in range(0, len(raw), size)
        )

    def _row(self, mask: int) -> Rows:
        found: Rows = self.rows([mask])[0]
        return found

    def _asked(self, node: int, gates: dict[int, tuple[int, bool]]) -> tuple[int, bool]:
        """Return the events that a node asks for, gates seen through, and whether it never is."""
        mask, never = 0, node in self._system.never
        for each in self._system.before[node]:
            if each < self._system.events:
                mask |= 1 << self.place[each]
                continue
            if each not in gates:
                gates[each] = self._asked(each, gates)
            mask, never = mask | gates[each][0], never or gates[each][1]
        return mask, never


def distinct_rows(rows: Rows) -> Rows:
    """Return the different rows, sorted."""
    if len(rows) < 2:  # noqa: PLR2004  one row is distinct
        return rows
    differ = np.flatnonzero(np.any(rows != rows[0], axis=0))
    if not len(differ):
        return rows[:1]
    keys = [rows[:, column] for column in differ]
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys)
    fresh = np.zeros(len(rows), np.bool_)
    fresh[0] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    return rows[order[fresh]]
