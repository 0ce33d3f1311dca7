"""Memory: storages that values live in, one after another, with a stamp beside the numbers."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution._touches import Key

__all__ = ["NOTHING", "Cell", "Memory", "Message", "flat", "same"]

NOTHING = -1


class Message(NamedTuple):
    """What a message carries: the numbers that it took, and the stamp that stood beside them."""

    data: Tensor
    value: int
    withdrawn: bool = False


class Cell:
    """One storage: its numbers, and the stamp of who put what there.

    `readers` are the sends that still read it, `writer` the receive that is still to write it.
    `met` holds the rows that wrote while a transfer was under way. `withdrawn` says that what
    stands there was made of weights that are withdrawn later. `first` is the row that took the
    storage first, from what stood there from the start.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.data = torch.zeros(0, dtype=dtype)
        self.value = NOTHING
        self.by = NOTHING
        self.overwritten: list[int] = []
        self.readers: set[int] = set()
        self.writers: set[int] = set()
        self.met: set[int] = set()
        self.freed_by: int | None = None
        self.touched = False
        self.first = NOTHING
        self.withdrawn = False

    @property
    def is_busy(self) -> bool:
        """Whether a transfer of it is under way."""
        return bool(self.readers or self.writers)


class Memory:
    """All storages of all ranks."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.cells: dict[Key, Cell] = {}

    def cell(self, key: Key) -> Cell:
        """Return a storage."""
        if key not in self.cells:
            self.cells[key] = Cell(self.dtype)
        return self.cells[key]

    def take(self, key: Key, size: int) -> Tensor:
        """Return a copy of the first numbers of a storage; what it never held is NaN."""
        data = self.cell(key).data[:size]
        if len(data) == size:
            return data.clone()
        return torch.cat((data, torch.full((size - len(data),), torch.nan, dtype=self.dtype)))

    def claim(self, key: Key, row: int) -> None:
        """Let a storage change hands: it is filled with NaN until its new value is put there."""
        cell = self.cell(key)
        if cell.is_busy:
            cell.met.add(row)
        if cell.value != NOTHING:
            cell.overwritten.append(row)
        cell.first = cell.first if cell.touched else row
        cell.touched, cell.freed_by = True, None
        cell.data = torch.full_like(cell.data, torch.nan)
        cell.value, cell.by = NOTHING, row

    def put(self, key: Key, data: Tensor, value: int, row: int, *, withdrawn: bool = False) -> None:
        """Put a value into a storage, one that counts or that is `withdrawn` later."""
        cell = self.cell(key)
        cell.withdrawn = withdrawn
        cell.data, cell.value, cell.by, cell.touched = flat(data), value, row, True

    def free(self, key: Key, row: int) -> None:
        """Give a storage back."""
        cell = self.cell(key)
        cell.data = torch.full_like(cell.data, torch.nan)
        cell.first = cell.first if cell.touched else row
        cell.value, cell.freed_by, cell.touched = NOTHING, row, True

    def culprits(self, key: Key) -> Iterator[int]:
        """Yield the rows that a storage holds something else for than a reader wants."""
        cell = self.cell(key)
        yield from (cell.by, *cell.overwritten, *sorted(cell.met))
        if cell.freed_by is not None:
            yield cell.freed_by


def flat(data: Tensor) -> Tensor:
    """Return a copy of numbers in one row."""
    return data.detach().reshape(-1).clone()


def same(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors are equal, bit by bit; NaN equals nothing."""
    return left.numel() == right.numel() and bool(torch.equal(left.reshape(-1), right.reshape(-1)))
