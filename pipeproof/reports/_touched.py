"""What operations touch: slots and named storage, and versions of the weights."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.storage import Stored, Touch, content_text
from pipeproof.semantics.frame import Frame

__all__ = ["Touched"]

_MANY = 6


class Touched:
    """Storage and weights of one schedule, by row."""

    def __init__(self, frame: Frame) -> None:
        """Look at the storage of `frame`, if any has a name."""
        self._frame = frame
        self._stored = frame.run.storage

    def slot(self, row: int) -> str:
        """Return the storage that a message is sent from or received into, if it has a name."""
        stored = self._stored
        if stored is None:
            return ""
        own = np.flatnonzero((stored.rows == row) & stored.moves)
        return ", ".join(dict.fromkeys(_label(stored, k) for k in own.tolist()[:_MANY]))

    def around(self, row: int) -> Iterator[tuple[int, int, str]]:
        """Yield pairs of rows, earlier first, that touch the same storage as a row, and what."""
        stored = self._stored
        if stored is None:
            return
        for k in np.flatnonzero(stored.rows == row).tolist()[:_MANY]:
            if stored.touch[k] == Touch.READ:
                yield from self._read(stored, k)
            else:
                yield from self._written(stored, k)

    def _read(self, stored: Stored, k: int) -> Iterator[tuple[int, int, str]]:
        source, before = int(stored.source[k]), int(stored.before[k])
        if source >= 0:
            yield self._pair(stored, source, k)
        if before >= 0 and before != source:
            yield self._pair(stored, before, k)
            if source >= 0:
                yield self._pair(stored, source, before)

    def _written(self, stored: Stored, k: int) -> Iterator[tuple[int, int, str]]:
        before, after = int(stored.before[k]), int(stored.after[k])
        if before >= 0:
            yield self._pair(stored, before, k)
        for other in self._reads_of(stored, before):
            yield self._pair(stored, before, other)
        if after >= 0:
            yield self._pair(stored, k, after)

    def _reads_of(self, stored: Stored, write: int) -> list[int]:
        if write < 0:
            return []
        found = np.flatnonzero((stored.source == write) & (stored.touch == Touch.READ))
        return list(map(int, found[:_MANY]))

    def _pair(self, stored: Stored, one: int, other: int) -> tuple[int, int, str]:
        code = int(stored.values[one])
        what = content_text(self._frame.ops, code) if code >= 0 else "nothing"
        where = _label(stored, one)
        return int(stored.rows[one]), int(stored.rows[other]), f"{what} in {where}"

    def versions(self, row: int) -> Iterator[tuple[int, str]]:
        """Yield the row that made each version that a row reads, -1 for the first, and its name."""
        versions = self._frame.versions
        if not versions.matters:
            return
        reads = versions.reads
        low, high = np.searchsorted(reads.rows, (row, row + 1)).tolist()
        for version in reads.versions[low:high].tolist()[:_MANY]:
            name = versions.names[int(versions.weight[version])]
            of = f" of {name}" if name else ""
            yield int(versions.made[version]), f"version {int(versions.number[version])}{of}"


def _label(stored: Stored, k: int) -> str:
    return stored.labels[int(stored.storage[k])]
