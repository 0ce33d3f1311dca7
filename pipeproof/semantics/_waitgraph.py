"""The graph of who waits for whom where nothing more can happen."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.transport import Groups
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations._queues import queues
from pipeproof.semantics.relations.ready import unpicked
from pipeproof.semantics.relations.running import meetings
from pipeproof.semantics.relations.storage import held_back
from pipeproof.semantics.weak import current, stands_on

__all__ = ["Node", "WaitGraph", "build"]

Prefix = tuple[list[int], int]
"""The first so many of a list."""
Before = tuple[list[int], Prefix]


class Node(NamedTuple):
    """Where a rank waits (`row` -1 where it has not started that instruction), or what is posted.

    A posted message end, or entry of a collective, has its row.
    """

    rank: int
    row: int
    instruction: int
    posted: bool


@dataclass(slots=True)
class WaitGraph:
    """Nodes, and for each what it waits for: in full (`all`), or only the nearest in a queue.

    `inner` are the links between what moves together, `through_collectives` those from an entry
    to the ranks that are yet to enter, and to the entry from where its rank waits. `slots` says of
    a rank that waits for a slot what is yet to leave it.
    """

    frame: Frame
    nodes: list[Node] = field(default_factory=list)
    nearest: list[list[int]] = field(default_factory=list)
    farther: list[list[Prefix]] = field(default_factory=list)
    through_collectives: set[tuple[int, int]] = field(default_factory=set)
    inner: set[tuple[int, int]] = field(default_factory=set)
    slots: dict[int, str] = field(default_factory=dict)

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        self.nearest.append([])
        self.farther.append([])
        return len(self.nodes) - 1

    def all(self, node: int) -> Sequence[int]:
        """Return everything that a node waits for."""
        others = (each for line, end in self.farther[node] for each in line[:end])
        return [*self.nearest[node], *(each for each in others if each != node)]

    def place(self, node: int) -> tuple[int, int] | None:
        """Return rank and position of a node, None for a rank before its next instruction."""
        row = self.nodes[node].row
        if row < 0:
            return None
        return int(self.frame.ops.rank[row]), int(self.frame.ops.position[row])


class _Builder:
    def __init__(self, model: Model, happened: npt.NDArray[np.bool_]) -> None:
        self.model, self.frame, self.happened = model, model.frame, happened
        self.graph = WaitGraph(model.frame)
        self.standing = current(model.frame, happened).tolist()
        self.held = held_back(model.frame, happened)
        self.rank_node = [self._rank_node(rank) for rank in range(model.frame.ranks)]
        self.end_node: dict[int, int] = {}
        self.entry_node: dict[int, int] = {}
        self.left_behind: dict[int, int] = {}

    def build(self) -> WaitGraph:
        frame = self.frame
        rows = np.flatnonzero(frame.run.is_message)
        open_ = rows[self._posted(rows) & ~self.happened[frame.completed(rows)]]
        for row in open_.tolist():
            self.end_node[row] = self.graph.add(self._posted_node(row))
        self._entries()
        for rank in range(frame.ranks):
            self._link_rank(rank)
        before = self._before_in_queue()
        for row in open_.tolist():
            self._link_end(row, before)
        self._link_left_behind()
        return self.graph

    def _rank_node(self, rank: int) -> int:
        at = self.standing[rank]
        stands = at >= 0 and (bool(self.happened[2 * at]) or 2 * at in self.held)
        row = int(self.frame.ops.first_row[at]) if stands else -1
        return self.graph.add(Node(rank, row, at, posted=False))

    def _posted_node(self, row: int) -> Node:
        ops = self.frame.ops
        return Node(int(ops.rank[row]), row, int(ops.instruction[row]), posted=True)

    def _posted(self, rows: "npt.NDArray[np.int64]") -> npt.NDArray[np.bool_]:
        return np.asarray(self.happened[self.frame.start(rows)])

    def _is_posted(self, row: int) -> bool:
        return bool(self.happened[2 * self.frame.ops.instruction[row]])

    def _link(self, node: int, others: Sequence[int], *, collective: bool = False) -> None:
        for other in others:
            self.graph.nearest[node].append(other)
            if collective:
                self.graph.through_collectives.add((node, other))

    # ranks

    def _entries(self) -> None:
        """Add each entered collective that has not ended, waiting for the ranks yet to enter."""
        ops = self.frame.ops
        for meeting in meetings(self.frame):
            entered = [row for row in meeting.entries if self._is_posted(row)]
            late = [row for row in meeting.entries if not self._is_posted(row)]
            if not entered or (not late and meeting.complete):
                continue
            for row in entered:
                node = self.graph.add(self._posted_node(row))
                self.entry_node[row] = node
                others = [self.rank_node[int(ops.rank[other])] for other in late]
                self._link(node, others, collective=True)

    def _link_rank(self, rank: int) -> None:
        frame, at, node = self.frame, self.standing[rank], self.rank_node[rank]
        started = at >= 0 and bool(self.happened[2 * at])
        moment = frame.ends + rank if at < 0 else 2 * at + int(started)
        if self.happened[moment]:
            return
        rows = frame.waits.rows[frame.waits.moments == moment].tolist()
        self._link(node, [self.end_node[row] for row in rows if row in self.end_node])
        entries = [self.entry_node[row] for row in rows if row in self.entry_node]
        self._link(node, entries, collective=True)
        self._link_slot(rank, moment)
        self._link_unpicked(rank, moment)
        if started:
            self._link_signal(rank, at)
            self._link_first_call(rank, at)

    def _link_slot(self, rank: int, moment: int) -> None:
        """A writer waits for the messages in its slot, and for what is to read it."""
        frame, node = self.frame, self.rank_node[rank]
        for event in self.held.get(moment, []):
            what, number = frame.owner(event)
            ends = (frame.pairing.send, frame.pairing.receive)
            row = (
                int(ends[(event - frame.first_transfer) % 2][number]) if what == "transfer" else -1
            )
            self._link(node, [self.end_node.get(row, node)])
            instruction = int(frame.ops.instruction[row]) if what == "transfer" else number
            said = "nobody" if what == "end" else frame.instruction_text(instruction)
            self.graph.slots.setdefault(node, said)

    def _link_unpicked(self, rank: int, moment: int) -> None:
        """A ready rank that can pick nothing waits for what any instruction left waits for."""
        ready, node = self.frame.run.ready, self.rank_node[rank]
        if ready is None or moment not in self.held:
            return
        others: list[int] = []
        for row in unpicked(self.frame, self.happened).get(moment, []):
            sender = int(self.frame.pairing.send[self.frame.pairing.of_row[row]])
            if row in self.end_node:
                others.append(self.end_node[row])
            elif sender >= 0 and not self._is_posted(sender):
                others.append(self.rank_node[int(self.frame.ops.rank[sender])])
        excused = any(
            s.excused for s in ready.stuck if 2 * self.frame.ops.instruction[s.row] == moment
        )
        self._link(node, others or ([] if excused else [node]))

    def _link_signal(self, rank: int, at: int) -> None:
        row = int(self.frame.ops.first_row[at])
        if self.frame.ops.kind[row] != Kind.AWAIT:
            return
        signals, awaits, _ = pair_signals(self.model.frame.run)
        for signal in signals[awaits == row].tolist():
            self._link(self.rank_node[rank], [self.rank_node[int(self.frame.ops.rank[signal])]])

    def _link_first_call(self, rank: int, at: int) -> None:
        """With lazy communicators a first call waits for that of the other rank."""
        if not self.frame.transport.lazy:
            return
        ops, message = self.frame.ops, self.frame.run.is_message
        for row in np.flatnonzero((ops.instruction == at) & message).tolist():
            peer, comm = int(ops.peer[row]), int(ops.comm[row])
            mine = message & (ops.rank == rank) & (ops.peer == peer) & (ops.comm == comm)
            theirs = message & (ops.rank == peer) & (ops.peer == rank) & (ops.comm == comm)
            first = int(np.flatnonzero(mine)[0])
            calls = np.flatnonzero(theirs)
            if ops.instruction[first] == at and len(calls) and not self._is_posted(int(calls[0])):
                self._link(self.rank_node[rank], [self.rank_node[peer]])

    # message ends

    def _before_in_queue(self) -> dict[int, Before]:
        """Return for each end the open ends before it in its queue: the nearest, and the others.

        The nearest are what one instruction posted; the others are a part of the queue's one list.
        """
        ends = queues(self.frame)
        instruction = self.frame.ops.instruction
        before: dict[int, Before] = {}
        line: list[int] = []
        queue = at = -1
        start = end = 0  # of the nearest, in `line`
        for row, own in zip(ends.rows.tolist(), ends.queue.tolist(), strict=True):
            if own != queue:
                queue, line, at, start, end = own, [], -1, 0, 0
            if int(instruction[row]) != at:
                if len(line) > end:
                    start, end = end, len(line)
                at = int(instruction[row])
            before[row] = (line[start:end], (line, start))
            if row in self.end_node:
                line.append(self.end_node[row])
        return before

    def _link_end(self, row: int, before: dict[int, Before]) -> None:
        frame, node = self.frame, self.end_node[row]
        pairing = frame.pairing
        transfer = int(pairing.of_row[row])
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        partner = receive if row == send else send
        self._queue(node, row, before)
        if frame.transport.groups is Groups.ATOMIC and partner >= 0:
            self._link_brackets(node, row, partner)
        if frame.together:
            self._link_partner(node, row, partner, before)
        elif row == send:
            self._link_credit(node, transfer)
        elif partner >= 0 and self._is_posted(partner):
            self._queue(node, partner, before)
            self._link_credit(node, transfer)
        elif partner >= 0:
            self._link(node, [self.rank_node[int(frame.ops.rank[partner])]])
        self._link_weak(node, row, partner)

    def _queue(self, node: int, row: int, before: dict[int, Before]) -> None:
        nearest, farther = before.get(row, ([], ([], 0)))
        own = self.end_node.get(row, -1)
        self.graph.nearest[node] += [n for n in nearest if n not in (node, own)]
        if farther[1]:
            self.graph.farther[node].append(farther)

    def _link_partner(self, node: int, row: int, partner: int, before: dict[int, Before]) -> None:
        if partner < 0:
            return
        if self._is_posted(partner):
            self._queue(node, partner, before)
        else:
            self._link(node, [self.rank_node[int(self.frame.ops.rank[partner])]])

    def _link_credit(self, node: int, transfer: int) -> None:
        """A send without credit waits for what is before it in its channel and has not arrived."""
        frame, pairing = self.frame, self.frame.pairing
        capacity = frame.transport.capacity
        drained = frame.drained(np.asarray(transfer))
        if capacity is None or self.happened[drained]:
            return
        line = np.flatnonzero((pairing.channel == pairing.channel[transfer]) & (pairing.send >= 0))
        earlier = line[pairing.send[line] < pairing.send[transfer]]
        waiting = earlier[~self.happened[frame.arrived(earlier)]]
        if len(waiting) < capacity:
            return
        for other in waiting.tolist():
            receive = int(pairing.receive[other])
            if receive in self.end_node:
                self._link(node, [self.end_node[receive]])
            elif receive >= 0:
                self._link(node, [self.rank_node[int(frame.ops.rank[receive])]])

    def _link_brackets(self, node: int, row: int, partner: int) -> None:
        """What moves together waits for all that the others of it wait for.

        These links alone are no deadlock: a cycle has to leave them through a queue or a rank.
        """
        ends = [each for each in self._members(row) if each != row]
        if self._is_posted(partner):
            ends += [each for each in self._members(partner) if each != partner]
        for each in ends:
            if each in self.end_node:
                self.graph.nearest[node].append(self.end_node[each])
                self.graph.inner.add((node, self.end_node[each]))

    def _members(self, row: int) -> list[int]:
        """Return the messages of a row's bracket."""
        ops = self.frame.ops
        instruction = int(ops.instruction[row])
        low = int(ops.first_row[instruction])
        rows = []
        while low < len(ops) and ops.instruction[low] == instruction:
            rows.append(low)
            low += 1
        return [each for each in rows if self.frame.run.is_message[each]]

    def _link_weak(self, node: int, row: int, partner: int) -> None:
        """A weak message waits for the ranks that do not stand in a call on its communicator."""
        frame = self.frame
        comm = int(frame.ops.comm[row])
        weak = frame.ops.comms[comm] in frame.transport.weak
        if not weak or partner < 0 or not self._is_posted(partner):
            return
        for rank in (int(frame.ops.rank[row]), int(frame.ops.peer[row])):
            at = self.standing[rank]
            inside = at >= 0 and bool(self.happened[2 * at])
            if comm in stands_on(frame, rank, at, inside=inside):
                continue
            self._link(node, [self.rank_node[rank]])
            if self.happened[frame.ends + rank]:
                self.left_behind[node] = partner

    def _link_left_behind(self) -> None:
        """Tie the ends of a weak message that is waited for and needs a rank that has ended."""
        todo = list(self.rank_node)
        seen = set(todo)
        while todo:
            for other in self.graph.nearest[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        for node, partner in self.left_behind.items():
            other = self.end_node.get(partner, -1)
            if other >= 0 and (node in seen or other in seen):
                self._link(node, [other])
                self._link(other, [node])


def build(model: Model, happened: npt.NDArray[np.bool_]) -> WaitGraph:
    """Return who waits for whom once nothing more can happen."""
    return _Builder(model, happened).build()
