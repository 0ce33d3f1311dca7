"""The graph of who waits for whom where nothing more can happen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.transport import Completion, Groups
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations._queues import queues
from pipeproof.semantics.relations.running import meetings
from pipeproof.semantics.weak import current, stands_on

__all__ = ["Node", "WaitGraph", "build"]


@dataclass(frozen=True, slots=True)
class Node:
    """Where a rank waits (`row` -1 where it has not started that instruction), or what is posted.

    A posted message end, or entry of a collective, has its row.
    """

    rank: int
    row: int
    instruction: int
    posted: bool


@dataclass(slots=True)
class WaitGraph:
    """Nodes, and for each what it waits for: in full (`all`), or only the nearest in a queue."""

    frame: Frame
    nodes: list[Node] = field(default_factory=list)
    nearest: list[list[int]] = field(default_factory=list)
    farther: list[list[int]] = field(default_factory=list)
    through_collectives: set[tuple[int, int]] = field(default_factory=set)

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        self.nearest.append([])
        self.farther.append([])
        return len(self.nodes) - 1

    def all(self, node: int) -> Sequence[int]:
        """Return everything that a node waits for."""
        return self.nearest[node] + self.farther[node]

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
        self.rank_node = [self._rank_node(rank) for rank in range(model.frame.ranks)]
        self.end_node: dict[int, int] = {}
        self.entry_node: dict[int, int] = {}

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
        return self.graph

    def _rank_node(self, rank: int) -> int:
        at = self.standing[rank]
        started = at >= 0 and bool(self.happened[2 * at])
        row = int(self.frame.ops.first_row[at]) if started else -1
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
        if started:
            self._link_signal(rank, at)
            self._link_first_call(rank, at)

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

    def _before_in_queue(self) -> dict[int, tuple[list[int], list[int]]]:
        """Return for each end the open ends before it in its queue: the nearest, and the others."""
        ends = queues(self.frame)
        instruction = self.frame.ops.instruction
        before: dict[int, tuple[list[int], list[int]]] = {}
        queue, seen, last, now = -1, [], [], []
        at = -1
        for row, own in zip(ends.rows.tolist(), ends.queue.tolist(), strict=True):
            if own != queue:
                queue, seen, last, now, at = own, [], [], [], -1
            if int(instruction[row]) != at:
                if now:
                    seen, last, now = seen + last, now, []
                at = int(instruction[row])
            before[row] = (last, seen)
            if row in self.end_node:
                now.append(self.end_node[row])
        return before

    def _link_end(self, row: int, before: dict[int, tuple[list[int], list[int]]]) -> None:
        frame, node = self.frame, self.end_node[row]
        pairing = frame.pairing
        transfer = int(pairing.of_row[row])
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        partner = receive if row == send else send
        self._queue(node, row, before)
        if frame.transport.groups is Groups.ATOMIC:
            self._link_brackets(node, row, partner, before)
        elif frame.transport.completion is Completion.RENDEZVOUS:
            self._link_partner(node, row, partner, before)
        elif row == send:
            self._link_credit(node, transfer)
        elif partner >= 0 and self._is_posted(partner):
            self._queue(node, partner, before)
            self._link_credit(node, transfer)
        elif partner >= 0:
            self._link(node, [self.rank_node[int(frame.ops.rank[partner])]])
        self._link_weak(node, row, partner)

    def _queue(self, node: int, row: int, before: dict[int, tuple[list[int], list[int]]]) -> None:
        nearest, farther = before.get(row, ([], []))
        own = self.end_node.get(row, -1)
        self.graph.nearest[node] += [n for n in nearest if n not in (node, own)]
        self.graph.farther[node] += [n for n in farther if n not in (node, own)]

    def _link_partner(
        self, node: int, row: int, partner: int, before: dict[int, tuple[list[int], list[int]]]
    ) -> None:
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

    def _link_brackets(
        self, node: int, row: int, partner: int, before: dict[int, tuple[list[int], list[int]]]
    ) -> None:
        """What moves together waits for every bracket of it to be posted, and for its queues.

        Each bracket that is not yet posted, or stands behind others, is an obstacle of its own;
        ends on the way to it are not ordered among each other.
        """
        set_, unposted = self._linked(row)
        for other in sorted(unposted):
            rank = int(self.frame.instruction_rank[other])
            self._along(node, row, other, [self.rank_node[rank]])
        for member in sorted(set_):
            nearest, farther = before.get(member, ([], []))
            if member != row and (nearest or farther):
                at = int(self.frame.ops.instruction[member])
                self._along(node, row, at, nearest + farther)

    def _along(self, node: int, row: int, obstacle: int, targets: list[int]) -> None:
        """Link an end to `targets` by way of the brackets between it and the obstacle."""
        way = self._way(int(self.frame.ops.instruction[row]), obstacle)
        for rows in way:
            inner = self.graph.add(self._posted_node(rows))
            self._link(node, [inner])
            node = inner
        self._link(node, targets)

    def _members(self, instruction: int) -> list[int]:
        ops = self.frame.ops
        low = int(ops.first_row[instruction])
        rows = []
        while low < len(ops) and ops.instruction[low] == instruction:
            rows.append(low)
            low += 1
        return [row for row in rows if self.frame.run.is_message[row]]

    def _partner(self, row: int) -> int:
        pairing = self.frame.pairing
        transfer = int(pairing.of_row[row])
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        return receive if row == send else send

    def _linked(self, row: int) -> tuple[set[int], set[int]]:
        """Return the posted ends that move with `row`, and the instructions that are missing."""
        todo, seen, missing = [int(self.frame.ops.instruction[row])], set[int](), set[int]()
        rows: set[int] = set()
        while todo:
            instruction = todo.pop()
            if instruction in seen or instruction in missing:
                continue
            if not self.happened[2 * instruction]:
                missing.add(instruction)
                continue
            seen.add(instruction)
            for member in self._members(instruction):
                rows.add(member)
                partner = self._partner(member)
                if partner >= 0:
                    todo.append(int(self.frame.ops.instruction[partner]))
        return rows, missing

    def _way(self, start: int, end: int) -> list[int]:
        """Return, for each posted bracket on a shortest way to `end`, one of its ends."""
        came: dict[int, tuple[int, int]] = {start: (-1, -1)}
        todo = [start]
        for instruction in todo:
            if instruction == end or not self.happened[2 * instruction]:
                continue
            for member in self._members(instruction):
                partner = self._partner(member)
                other = int(self.frame.ops.instruction[partner]) if partner >= 0 else -1
                if other >= 0 and other not in came:
                    came[other] = (instruction, partner)
                    todo.append(other)
        way: list[int] = []
        at = end
        while at in came and at != start:
            back, partner = came[at]
            if self.happened[2 * at]:
                way.append(partner)
            at = back
        return way[::-1]

    def _link_weak(self, node: int, row: int, partner: int) -> None:
        """A weak message waits for the ranks that do not stand in a call on its communicator."""
        frame = self.frame
        comm = int(frame.ops.comm[row])
        if frame.ops.comms[comm] not in frame.transport.weak or partner < 0:
            return
        for rank in (int(frame.ops.rank[row]), int(frame.ops.peer[row])):
            at = self.standing[rank]
            inside = at >= 0 and bool(self.happened[2 * at])
            if comm not in stands_on(frame, rank, at, inside=inside):
                self._link(node, [self.rank_node[rank]])


def build(model: Model, happened: npt.NDArray[np.bool_]) -> WaitGraph:
    """Return who waits for whom once nothing more can happen."""
    return _Builder(model, happened).build()


