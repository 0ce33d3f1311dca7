"""Memory that stays where it is, so that a message can read or write it while a rank goes on."""

import torch
from torch import Tensor

from pipeproof.execution._memory import Memory
from pipeproof.execution._touches import Key

__all__ = ["Pinned"]

_ROOM = 1024  # numbers of a storage


class Pinned(Memory):
    """Storages at fixed addresses; what changes hands is filled with NaN in place."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__(dtype)
        self._rooms: dict[Key, Tensor] = {}

    def room(self, key: Key, size: int) -> Tensor:
        """Return the first numbers of a storage, as they stand in memory."""
        room = self._rooms.get(key)
        if room is None or len(room) < size:
            room = torch.full((max(size, _ROOM),), torch.nan, dtype=self.dtype)
            self._rooms[key] = room
        return room[:size]

    def widen(self, key: Key, size: int) -> Tensor:
        """Return the numbers that a receive writes; they are the contents from now on."""
        cell = self.cell(key)
        cell.data = self.room(key, size)
        return cell.data

    def claim(self, key: Key, row: int) -> None:
        super().claim(key, row)
        self._settle(key)

    def put(self, key: Key, data: Tensor, value: int, row: int, *, withdrawn: bool = False) -> None:
        super().put(key, data, value, row, withdrawn=withdrawn)
        self._settle(key)

    def free(self, key: Key, row: int) -> None:
        super().free(key, row)
        self._settle(key)

    def _settle(self, key: Key) -> None:
        """Bring what a storage holds to its address; behind it there is nothing."""
        cell = self.cell(key)
        room = self.room(key, cell.data.numel())
        room.copy_(cell.data)
        self._rooms[key][len(room) :] = torch.nan
        cell.data = room
