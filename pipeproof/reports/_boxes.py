"""Instructions of a schedule as boxes of a slice, and how far each of them is."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from pipeproof.reports._slice import Box, Draft, State
from pipeproof.semantics.logic import Acyclic, Finally
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken
from pipeproof.verdict.replay import happen

__all__ = ["Boxes"]


class Boxes:
    """Takes instructions, ends of programs, and what stands nowhere into a slice.

    The key of an instruction is its number; ends of programs and what stands nowhere come behind.
    """

    def __init__(self, model: Model, broken: Broken, lines: Mapping[tuple[int, int], str]) -> None:
        """Start without boxes; `lines` says where places stand in their file."""
        self.model, self.broken, self.lines = model, broken, lines
        self.frame = model.frame
        self.draft = Draft()
        self.stuck = isinstance(broken.rule.axiom, Acyclic | Finally)
        self.happened = self._happened()
        self.absent = self.frame.instructions + self.frame.ranks

    def _happened(self) -> npt.NDArray[np.bool_] | None:
        trace = self.broken.trace
        if not len(trace):
            return None
        if not self.stuck:
            happened = np.zeros(self.frame.events, np.bool_)
            happened[trace] = True
            return happened
        graph = self.model.progress
        return np.asarray(happen(self.model, graph, trace) != np.iinfo(np.int64).max)

    def _row(self, row: int) -> int:
        return self._instruction(int(self.frame.ops.instruction[row]))

    def _instruction(self, number: int) -> int:
        """Take an instruction into the slice, and return its key."""
        frame = self.frame
        rank = int(frame.instruction_rank[number])
        order = number - int(frame.run.rank_start[rank])
        self.draft.add(
            Box(number, rank, order, frame.instruction_text(number), self._state(number))
        )
        row = int(frame.ops.first_row[number])
        place = (rank, frame.position(row))
        said = f"position {place[1]}" + self.lines.get(place, "")
        said += ", second step" if frame.run.copy[row] else ""
        self.draft.note(number, said)
        if bool(frame.run.added[row]):
            self.draft.note(number, "written in by lowering")
        return number

    def _around(self, most: int) -> None:
        """Take in what stands around the boxes that are there, up to so many in all."""
        start = self.frame.run.rank_start
        boxes = [box for box in self.draft.boxes.values() if box.key < self.frame.instructions]
        for far in range(1, most):
            for box in boxes:
                first, last = int(start[box.rank]), int(start[box.rank + 1])
                for number in (box.key - far, box.key + far):
                    if first <= number < last and len(self.draft) < most:
                        self._instruction(number)

    def _end(self, rank: int) -> int:
        key, start = self.frame.instructions + rank, self.frame.run.rank_start
        order = int(start[rank + 1] - start[rank])
        state = State.UNTOLD
        if self.happened is not None:
            reached = bool(self.happened[self.frame.ends + rank])
            state = State.DONE if reached else State.LATER
        self.draft.add(Box(key, rank, order, "end of program", state))
        return key

    def _nowhere(self, rank: int, text: str) -> int:
        """Take something into the slice that stands nowhere."""
        for box in self.draft.boxes.values():
            if box.state is State.ABSENT and (box.rank, box.text) == (rank, text):
                return box.key
        self.absent += 1
        self.draft.add(Box(self.absent, rank, None, text, State.ABSENT))
        return self.absent

    def _state(self, number: int) -> State:
        if self.happened is None:
            return State.UNTOLD
        if self.happened[2 * number + 1]:
            return State.DONE if self._has_moved(number) else State.POSTED
        return State.STANDS if self.happened[2 * number] else State.LATER

    def _has_moved(self, number: int) -> bool:
        """Whether the messages of an instruction are complete for their own rank."""
        rows = np.asarray(list(self._rows(number)), np.int64)
        rows = rows[self.frame.run.is_message[rows]]
        return self.happened is None or bool(np.all(self.happened[self.frame.completed(rows)]))

    def _name(self, key: int) -> None:
        if key in self.draft:
            self.draft.boxes[key].named = True

    def _rows(self, number: int) -> Iterator[int]:
        ops = self.frame.ops
        row = int(ops.first_row[number])
        while row < len(ops) and ops.instruction[row] == number:
            yield row
            row += 1

    def _event(self, event: int) -> tuple[int, str]:
        """Take the instruction of an event into the slice, and say which moment of it is meant."""
        kind, number = self.frame.owner(event)
        if kind == "instruction":
            return self._instruction(number), "ended" if event % 2 else "started"
        if kind == "end":
            return self._end(number), ""
        pairing = self.frame.pairing
        send, receive = int(pairing.send[number]), int(pairing.receive[number])
        arrived = (event - self.frame.first_transfer) % 2 == 1
        row = receive if (arrived and receive >= 0) or send < 0 else send
        return self._row(row), "arrived" if arrived else "sent out of its storage"
