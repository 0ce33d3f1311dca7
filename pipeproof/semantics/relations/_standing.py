"""Where each rank stands once nothing more can happen, and whom it waits for there."""

from collections.abc import Collection, Iterator

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.semantics.found import Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import at, program_end
from pipeproof.semantics.relations.running import Meeting, meetings

__all__ = ["Standing", "standing"]

_Happened = npt.NDArray[np.bool_]
_CALLS = (Kind.SEND, Kind.RECV, Kind.AWAIT)


class Standing:
    """A rank whose program has not ended: it stands at an instruction, or before the end."""

    def __init__(self, frame: Frame, happened: _Happened, rank: int, instruction: int) -> None:
        self._frame, self._happened = frame, happened
        self.rank, self._instruction = rank, instruction

    @property
    def spot(self) -> Spot:
        """Return the place."""
        if self._instruction < 0:
            return program_end(self._frame, self.rank)
        return at(self._frame, int(self._frame.ops.first_row[self._instruction]))

    @property
    def text(self) -> str:
        """Return who stands where, in words."""
        if self._instruction < 0:
            return f"rank {self.rank} at the end of its program"
        return f"rank {self.rank} at {self._frame.instruction_text(self._instruction)}"

    def names(self, ranks: Collection[int], transfers: Collection[int]) -> bool:
        """Whether something that it waits for has to do with some ranks or messages."""
        ops, rows = self._frame.ops, self._rows()
        messages = self._frame.run.is_message
        if any(int(self._frame.pairing.of_row[row]) in transfers for row in rows if messages[row]):
            return True
        if any(int(ops.peer[row]) in ranks for row in rows if ops.kind[row] in _CALLS):
            return True
        entered = {row for row in rows if ops.kind[row] in (Kind.COLL, Kind.TIE)}
        return bool(entered) and any(
            entered.intersection(meeting.entries) and set(meeting.ranks).intersection(ranks)
            for meeting in meetings(self._frame)
            if not self._is_entered(meeting)
        )

    def _is_entered(self, meeting: Meeting) -> bool:
        starts = self._frame.start(np.asarray(meeting.entries))
        return meeting.complete and bool(np.all(self._happened[starts]))

    def _rows(self) -> list[int]:
        """Return what it waits for: messages, entries and signals that are not complete."""
        frame, here = self._frame, self._instruction
        waits = frame.waits
        moment = 2 * here + int(self._happened[2 * here])
        if here < 0:
            moment = frame.ends + self.rank
        rows: list[int] = waits.rows[waits.moments == moment].tolist()
        rows = [row for row in rows if not self._is_complete(row)]
        started = here >= 0 and bool(self._happened[2 * here])
        return rows + (self._called(here) if started else [])

    def _called(self, instruction: int) -> list[int]:
        """Return what an instruction waits for by itself: a signal, or others that call it not."""
        frame, lazy = self._frame, self._frame.transport.lazy
        return [
            row
            for row in np.flatnonzero(frame.ops.instruction == instruction).tolist()
            if frame.ops.kind[row] == Kind.AWAIT
            or (lazy and frame.run.is_message[row] and not self._is_answered(row))
        ]

    def _is_answered(self, row: int) -> bool:
        """Whether the other rank of a message has begun to call this one on its communicator."""
        ops, message = self._frame.ops, self._frame.run.is_message
        calls = message & (ops.rank == ops.peer[row]) & (ops.peer == ops.rank[row])
        calls &= ops.comm == ops.comm[row]
        first = np.flatnonzero(calls)[:1]
        return bool(len(first) and self._happened[self._frame.start(first)[0]])

    def _is_complete(self, row: int) -> bool:
        frame = self._frame
        if not frame.run.is_message[row]:
            return False
        return bool(self._happened[frame.completed(np.asarray([row]))[0]])


def standing(frame: Frame, happened: _Happened) -> Iterator[Standing]:
    """Yield the ranks whose programs have not ended where nothing more can happen, in order."""
    bounds = frame.run.rank_start
    open_ = np.append(np.flatnonzero(~happened[1 : frame.ends : 2]), frame.instructions)
    first = open_[np.searchsorted(open_, bounds[:-1])]
    for rank, instruction in enumerate(np.where(first < bounds[1:], first, -1).tolist()):
        if not happened[frame.ends + rank]:
            yield Standing(frame, happened, rank, instruction)
