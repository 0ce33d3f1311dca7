"""The events of one schedule under one transport, and where each of them stands."""

from functools import cached_property

import numpy as np

from pipeproof.ir.accesses import Access, Supply, reads, supply, writes
from pipeproof.ir.as_run import AsRun, Waits
from pipeproof.ir.operations import IntArray, Operations, read_only
from pipeproof.ir.transport import Completion, Groups, Transport
from pipeproof.semantics.found import Spot
from pipeproof.semantics.pairing import Pairing, pair_messages
from pipeproof.semantics.versions import Versions, versions_of

__all__ = ["Frame"]


class Frame:
    """Events as integers, each on a chain.

    With I instructions over R ranks and T transfers: event 2 i is the start of instruction i and
    2 i + 1 its end; 2 I + r the end of rank r's program; then `drained` (the source has been read
    for the last time) and `arrived` (the destination is written) of each transfer in turn.
    Relations may add gates behind `events`: moments at which several things have come together.
    The chain of a rank is its program; a transfer is a chain of its own.
    """

    def __init__(self, run: AsRun, transport: Transport, waits: Waits) -> None:
        self.run = run
        self.transport = transport
        self.waits = waits
        self._texts: dict[int, str] = {}
        self.pairing: Pairing = pair_messages(run, transport.match)
        self.instructions = int(run.rank_start[-1])
        self.ranks = run.schedule.ranks
        self.ends = 2 * self.instructions
        self.first_transfer = self.ends + self.ranks
        self.events = self.first_transfer + 2 * len(self.pairing)

    @property
    def ops(self) -> Operations:
        """The operations as run."""
        return self.run.operations

    @property
    def fragment(self) -> bool:
        """Whether only part of a schedule is there."""
        return self.run.schedule.fragment

    @property
    def atomic(self) -> bool:
        """Whether brackets move as a whole."""
        return self.transport.groups is Groups.ATOMIC

    @property
    def together(self) -> bool:
        """Whether a send cannot complete before its receive is posted."""
        return self.transport.completion is Completion.RENDEZVOUS or self.atomic

    def start(self, rows: IntArray) -> IntArray:
        """Return the start of the instructions that `rows` belong to."""
        return np.asarray(2 * self.ops.instruction[rows])

    def done(self, rows: IntArray) -> IntArray:
        """Return the end of the instructions that `rows` belong to."""
        return np.asarray(2 * self.ops.instruction[rows] + 1)

    def drained(self, transfers: IntArray) -> IntArray:
        """Return the moments at which the sources of `transfers` have been read."""
        return np.asarray(self.first_transfer + 2 * transfers)

    def arrived(self, transfers: IntArray) -> IntArray:
        """Return the moments at which the destinations of `transfers` are written."""
        return np.asarray(self.first_transfer + 2 * transfers + 1)

    def completed(self, rows: IntArray) -> IntArray:
        """Return when the messages in `rows` are complete for their own rank."""
        transfers = self.pairing.of_row[rows]
        sends = self.pairing.send[transfers] == rows
        return np.where(sends, self.drained(transfers), self.arrived(transfers))

    @cached_property
    def instruction_rank(self) -> IntArray:
        """The rank of each instruction, shape `(instructions,)`."""
        return read_only(self.ops.rank[self.ops.first_row])

    @cached_property
    def supplied(self) -> tuple[Access, Supply]:
        """Every read of a value, in order of its row, and who supplies it."""
        reading = reads(self.run)
        return reading, supply(self.ops, reading, writes(self.run))

    @cached_property
    def versions(self) -> Versions:
        """Which versions of the weights operations read."""
        return versions_of(self.run)

    @cached_property
    def awaited(self) -> IntArray:
        """For each row the moment that waits for it, -1 where none does, shape `(rows,)`."""
        moments = np.full(len(self.ops), -1, np.int64)
        moments[self.waits.rows] = self.waits.moments
        return read_only(moments)

    @cached_property
    def chain(self) -> IntArray:
        """The rank on whose program an event stands, -1 for transfers, shape `(events,)`."""
        chain = np.full(self.events, -1, np.int64)
        chain[: self.ends] = np.repeat(self.instruction_rank, 2)
        chain[self.ends : self.first_transfer] = np.arange(self.ranks)
        return read_only(chain)

    @cached_property
    def guess(self) -> IntArray | None:
        """An order in which the events may happen, as lowering placed them; None without one.

        A number an event, to be checked before it is believed. A message moves once both its
        ends are placed, and a call ends after its message has moved.
        """
        turns = self.run.turns
        if turns is None:
            return None
        first = self.ops.first_row
        moment = np.empty(self.events, np.int64)
        moment[0 : self.ends : 2] = 4 * turns[first]
        moment[1 : self.ends : 2] = 4 * turns[first] + 3
        moment[self.ends : self.first_transfer] = 4 * len(self.ops)
        pairing = self.pairing
        later = np.maximum(
            np.where(pairing.send >= 0, turns[pairing.send], -1),
            np.where(pairing.receive >= 0, turns[pairing.receive], -1),
        )
        moment[self.first_transfer :: 2] = 4 * later + 1
        moment[self.first_transfer + 1 :: 2] = 4 * later + 2
        for end in (pairing.send, pairing.receive):
            rows = end[end >= 0]
            moment[self.done(rows)] = 4 * later[end >= 0] + 3
        return read_only(moment)

    def text(self, row: int) -> str:
        """Return an operation in the words of its author, or of its framework."""
        return self.run.spelled.text(int(self.run.base[row]))

    def instruction_text(self, instruction: int) -> str:
        """Return a whole instruction in the words of its author, or of its framework."""
        if instruction not in self._texts:
            spelled = self.run.spelled
            row = int(self.run.base[self.ops.first_row[instruction]])
            self._texts[instruction] = spelled.instruction_text(int(spelled.instruction[row]))
        return self._texts[instruction]

    def place(self, spot: Spot) -> tuple[int, int]:
        """Return rank and position of a place; behind the last instruction at a program's end."""
        if spot.row >= 0:
            return int(self.ops.rank[spot.row]), self.position(spot.row)
        rank = spot.event - self.ends
        return rank, self.length(rank)

    def length(self, rank: int) -> int:
        """Return how many instructions a rank's program has as written."""
        return int(self.lengths[rank])

    @cached_property
    def lengths(self) -> IntArray:
        """How many instructions each rank's program has as written, shape `(ranks,)`."""
        written = self.run.schedule.operations
        lengths = np.zeros(self.ranks, np.int64)
        np.maximum.at(lengths, written.rank, written.position + 1)
        return read_only(lengths)

    def positions(self, rows: IntArray) -> IntArray:
        """Return `position` of each of `rows`."""
        written, positions = self.run.written[rows], self.run.schedule.operations.position
        found = np.zeros(len(rows), np.int64)
        found[written >= 0] = positions[written[written >= 0]]
        return found

    def position(self, row: int) -> int:
        """Return the position, in the program as written, of a row or of what it stands beside."""
        written = int(self.run.written[row])
        return int(self.run.schedule.operations.position[written]) if written >= 0 else 0

    def owner(self, event: int) -> tuple[str, int]:
        """Return what an event belongs to: instruction, end of a rank, transfer or gate."""
        if event < self.ends:
            return "instruction", event // 2
        if event < self.first_transfer:
            return "end", event - self.ends
        if event < self.events:
            return "transfer", (event - self.first_transfer) // 2
        return "gate", event - self.events
