"""What is left once nothing more can happen: messages that nobody receives."""

from collections.abc import Iterator, Mapping

from pipeproof.execution._events import Events
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import NOTHING, Memory, Message, flat, same
from pipeproof.execution._touches import later
from pipeproof.execution.reference import Reference
from pipeproof.ir.actions import Kind
from pipeproof.ir.storage import content_text
from pipeproof.ir.transport import Match

__all__ = ["Left"]


class Left:
    """Messages that have left their storage and have no receive."""

    def __init__(self, events: Events, reference: Reference, memory: Memory) -> None:
        self.events, self.reference, self.memory = events, reference, memory
        self.ops = events.run.operations

    def stranded(self, messages: Mapping[int, Message]) -> Iterator[tuple[int, Illegal]]:
        """Yield the messages on their way that have no receive, each with its arrival."""
        for number, message in sorted(messages.items()):
            transfer = self.events.transfers[number]
            if transfer.receive < 0:
                there = message.value != NOTHING
                told = content_text(self.ops, message.value) if there else "nothing"
                visible, expected = self._next(transfer.send, message)
                event = self.events.first_transfer + 2 * number + 1
                places = (Place(transfer.send),)
                yield event, Illegal(Fault.STRANDED, places, expected, told, visible)

    def _next(self, send: int, message: Message) -> tuple[bool, str]:
        """Whether it shows in the numbers, and what would be in its place.

        Where messages pair in order, the first receive of its channel takes it in the next step;
        else it shows where its numbers stand nowhere on the rank that it was sent to.
        """
        ops, rank = self.ops, int(self.ops.peer[send])
        line = ops.is_kind(Kind.RECV) & (ops.rank == rank) & (ops.peer == ops.rank[send])
        rows = (line & (ops.comm == ops.comm[send])).nonzero()[0].tolist()
        if rows and self.events.match is Match.ORDER:
            asked = later(int(ops.value[rows[0]]), self.reference.asked.per_step)
            wanted = flat(self.reference.value(asked))
            return not same(message.data, wanted), f"{content_text(ops, asked)} of the next step"
        cells = (cell for key, cell in self.memory.cells.items() if key[0] in (rank, -1))
        size = message.data.numel()
        there = any(same(cell.data[:size], message.data) for cell in cells)
        return not there, f"a receive on rank {rank}"
