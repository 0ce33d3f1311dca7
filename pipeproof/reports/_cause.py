"""From a violation to its slice: places, what they wait for or lack, and what comes to them."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE, IntArray
from pipeproof.ir.sets import among
from pipeproof.reports._slice import Box, Draft, Means, Slice, State
from pipeproof.reports._touched import Touched
from pipeproof.semantics.found import Finding
from pipeproof.semantics.logic import Acyclic, All, AtMost, Axiom, Enforced, Finally
from pipeproof.semantics.model import Model
from pipeproof.semantics.waiting import Link, Node, cycles
from pipeproof.verdict.decision import Broken
from pipeproof.verdict.replay import happen

__all__ = ["cause"]

_WANTED = 14  # boxes up to which what comes before is drawn
_RELATED = 16
_IDENTITY = ("PP1", "PP4", "PP6", "PP7", "PP8")
_WEIGHTS = ("PP6", "PP8")
_COMPUTE = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.L, Kind.R)
_GATHERED = (Kind.B, Kind.W, Kind.STEP, Kind.SKIP, Kind.REDUCE)


def cause(
    model: Model, broken: Broken, title: tuple[str, ...], lines: Mapping[tuple[int, int], str]
) -> Slice:
    """Return what makes a schedule illegal.

    Args:
        model: the schedule under the transport that shows it.
        broken: the rule that is broken, and where.
        title: what stands above the picture.
        lines: where the places stand in their file, by rank and position.
    """
    return _Cause(model, broken, lines).slice(title)


class _Cause:
    def __init__(self, model: Model, broken: Broken, lines: Mapping[tuple[int, int], str]) -> None:
        self.model, self.broken, self.lines = model, broken, lines
        self.frame = model.frame
        self.draft = Draft()
        self.stuck = isinstance(broken.rule.axiom, Acyclic | Finally)
        self.happened = self._happened()
        self.touched = Touched(self.frame)
        self.core: list[int] = []
        self.absent = self.frame.instructions + self.frame.ranks

    def slice(self, title: tuple[str, ...]) -> Slice:
        finding = self.broken.finding
        for spot in finding.spots:
            key = self._end(spot.event - self.frame.ends) if spot.row < 0 else self._row(spot.row)
            self._name(key)
        self._wait_cycle()
        for axiom in _parts(self.broken.rule.axiom):
            if isinstance(axiom, Enforced):
                self._unordered(axiom, finding)
            elif isinstance(axiom, AtMost):
                self._held(axiom, finding)
        self._mark_first()
        self.core = [key for key in self.draft.boxes if key < self.frame.instructions]
        rows = [row for key in self.core for row in self._rows(key)]
        for row in rows:
            self._partner(row)
            self._stored(row)
            self._weights(row)
        self._related(rows)
        self._supplied()
        self._before()
        return self.draft.finished(title)

    # boxes

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
            return State.DONE
        return State.STANDS if self.happened[2 * number] else State.LATER

    def _name(self, key: int) -> None:
        if key in self.draft:
            self.draft.boxes[key].named = True

    def _rows(self, number: int) -> Iterator[int]:
        ops = self.frame.ops
        row = int(ops.first_row[number])
        while row < len(ops) and ops.instruction[row] == number:
            yield row
            row += 1

    def _mark_first(self) -> None:
        """Mark the instruction with which the execution becomes illegal, if one does."""
        if self.stuck or not len(self.broken.trace):
            return
        kind, number = self.frame.owner(int(self.broken.trace[-1]))
        named = [box.key for box in self.draft.boxes.values() if box.named]
        if kind == "transfer":
            pairing = self.frame.pairing
            ends = [int(pairing.receive[number]), int(pairing.send[number])]
            keys = [int(self.frame.ops.instruction[row]) for row in ends if row >= 0]
        else:
            keys = [number + (self.frame.instructions if kind == "end" else 0)]
        key = next((each for each in keys if each in named), named[-1] if named else -1)
        if key in self.draft:
            self.draft.boxes[key].first = True

    # what is broken

    def _wait_cycle(self) -> None:
        if not self.stuck or self.happened is None:
            return
        spots = {spot.event for spot in self.broken.finding.spots}
        for cycle in cycles(self.model, self.happened):
            if {spot.event for spot in cycle.finding.spots} == spots:
                for link in cycle.links:
                    self._link(link)
                return

    def _link(self, link: Link) -> None:
        one, other = self._node(link.waits), self._node(link.other)
        said = f"waits for a slot that {link.slot} is yet to leave" if link.slot else ""
        row = link.waits.row
        if not said and link.waits.posted and self.frame.run.is_message[row]:
            sends = self.frame.ops.kind[row] == Kind.SEND
            value = self.frame.ops.value_text(int(self.frame.ops.value[row]))
            rank = link.other.rank
            if rank != link.waits.rank:
                said = f"waits for rank {rank} to {'take' if sends else 'send'} {value}"
        if said:
            self.draft.note(one, said)
        self.draft.join(one, other, Means.WAITS)

    def _node(self, node: Node) -> int:
        if node.row >= 0:
            return self._row(node.row)
        return self._end(node.rank) if node.instruction < 0 else self._instruction(node.instruction)

    def _unordered(self, axiom: Enforced, finding: Finding) -> None:
        """Draw what must come first."""
        needs = self.model.needs(axiom.rel)
        for spot in finding.spots:
            own = (needs.rows == spot.row) & (needs.after == spot.event)
            if finding.before is not None:
                own &= needs.before == finding.before
            for k in np.flatnonzero(own).tolist():
                before, value = int(needs.before[k]), int(needs.values[k])
                if before >= 0 and self.happened is not None and self.happened[before]:
                    continue
                said = self.frame.ops.value_text(value) if value >= 0 else ""
                if before < 0:
                    rank = int(self.frame.ops.rank[spot.row])
                    key, moment = self._nowhere(rank, f"nothing brings {said or 'it'}"), ""
                else:
                    key, moment = self._event(before)
                label = " ".join(filter(None, (said, moment)))
                self.draft.join(key, self._row(spot.row), Means.UNORDERED, label)

    def _held(self, axiom: AtMost, finding: Finding) -> None:
        """Take in what is live where too much is, nearest first."""
        holds = self.model.holds(axiom.measure)
        for spot in finding.spots:
            rank = int(self.frame.chain[spot.event])
            live = (holds.rank == rank) & (holds.start <= spot.event) & (holds.rows >= 0)
            if self.happened is not None:
                gone = np.zeros(len(holds.start), np.int64)
                np.add.at(gone, holds.of, ~self.happened[holds.ends])
                live &= (gone > 0) | ~among(np.arange(len(gone)), holds.of)
            for k in np.flatnonzero(live)[::-1][:_RELATED].tolist():
                self.draft.note(
                    self._row(int(holds.rows[k])), f"holds {holds.kinds[holds.kind[k]]}"
                )

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

    # what belongs to it

    def _partner(self, row: int) -> None:
        """Draw the message of a row, and where it is taken for another one what that one is."""
        frame, ops = self.frame, self.frame.ops
        if not frame.run.is_message[row]:
            return
        transfer = int(frame.pairing.of_row[row])
        send, receive = int(frame.pairing.send[transfer]), int(frame.pairing.receive[transfer])
        if send < 0 or receive < 0:
            peer = int(ops.peer[row])
            lacks = "no receive of this" if receive < 0 else "no send of this"
            key = self._nowhere(peer, lacks)
            ends = (self._row(row), key) if receive < 0 else (key, self._row(row))
            value = ops.value_text(int(ops.value[row]))
            self.draft.join(*ends, Means.MESSAGE, value)
            return
        crossed = ops.value[receive] >= 0 and ops.value[send] != ops.value[receive]
        means = Means.CROSSED if crossed else Means.MESSAGE
        self.draft.join(self._row(send), self._row(receive), means, self._carried(send, receive))
        if crossed:
            self._meant(transfer)

    def _carried(self, send: int, receive: int) -> str:
        ops = self.frame.ops
        said = ops.value_text(int(ops.value[send]))
        if ops.value[receive] >= 0 and ops.value[send] != ops.value[receive]:
            said += f" as {ops.value_text(int(ops.value[receive]))}"
        for row, word in ((send, "from"), (receive, "into")):
            slot = self.touched.slot(row)
            said += f" {word} {slot}" if slot else ""
        return said

    def _meant(self, transfer: int) -> None:
        """Draw the send that a crossed receive names, and the receive that names a crossed send."""
        ops, pairing = self.frame.ops, self.frame.pairing
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        own = np.flatnonzero(pairing.channel == pairing.channel[transfer])
        for ends, value in ((pairing.send[own], ops.value[receive]),):
            named = [row for row in ends.tolist() if row >= 0 and ops.value[row] == value]
            for row in named[:1]:
                self.draft.join(self._row(row), self._row(receive), Means.MEANT)
        taken = [
            row
            for row in pairing.receive[own].tolist()
            if row >= 0 and ops.value[row] == ops.value[send]
        ]
        for row in taken[:1]:
            self.draft.join(self._row(send), self._row(row), Means.MEANT)

    def _stored(self, row: int) -> None:
        for before, after, said in self.touched.around(row):
            self.draft.join(self._row(before), self._row(after), Means.CONTENT, said)

    def _weights(self, row: int) -> None:
        if not self.broken.rule.code.startswith(_WEIGHTS):
            return
        for made, said in self.touched.versions(row):
            self.draft.note(self._row(row), f"reads {said}")
            if made >= 0:
                self.draft.join(self._row(made), self._row(row), Means.VERSION, said)

    def _related(self, rows: list[int]) -> None:
        """Take in the operations of the same microbatch on the same stage, or that add up."""
        if not self.broken.rule.code.startswith(_IDENTITY):
            return
        ops = self.frame.ops
        found: list[int] = []
        for row in rows:
            stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
            if stage == NONE:
                continue
            alike = ops.stage == stage
            if microbatch == NONE:
                alike &= ops.is_kind(*_GATHERED)
            else:
                alike &= (ops.microbatch == microbatch) & ops.is_kind(*_COMPUTE)
            near = np.flatnonzero(alike)
            found += near[np.argsort(np.abs(near - row), kind="stable")][:_RELATED].tolist()
        for row in [each for each in dict.fromkeys(found) if each not in rows][:_RELATED]:
            self._row(row)
            self._weights(row)

    # what comes to it

    def _supplied(self) -> None:
        """Go back along what is read, nearest first, while there are few boxes."""
        reading, supply = self.frame.supplied
        todo, seen = list(self.draft.boxes), set[int]()
        while todo:
            key = todo.pop(0)
            if key in seen or key >= self.frame.instructions:
                continue
            seen.add(key)
            for row in self._rows(key):
                todo += self._sources(row, reading.rows, reading.values, supply.writer)

    def _sources(self, row: int, rows: IntArray, values: IntArray, writer: IntArray) -> list[int]:
        found: list[int] = []
        low, high = np.searchsorted(rows, (row, row + 1)).tolist()
        for k in range(low, high):
            source = int(writer[k])
            if source >= 0 and self._room(source):
                found.append(self._row(source))
                said = self.frame.ops.value_text(int(values[k]))
                self.draft.join(found[-1], self._row(row), Means.CONTENT, said)
        transfer = int(self.frame.pairing.of_row[row])
        if transfer >= 0:
            send, receive = (
                int(self.frame.pairing.send[transfer]),
                int(self.frame.pairing.receive[transfer]),
            )
            if min(send, receive) >= 0 and self._room(send) and self._room(receive):
                self._partner(row)
                found.append(self._row(send))
        return found

    def _room(self, row: int) -> bool:
        """Whether a row is in the slice, or there is room for what is only context."""
        return int(self.frame.ops.instruction[row]) in self.draft or len(self.draft) < _WANTED

    def _before(self) -> None:
        """Take in what stands around the places, then the last that happened."""
        start = self.frame.run.rank_start
        for box in list(self.draft.boxes.values()):
            if box.named and box.key < self.frame.instructions:
                first, last = int(start[box.rank]), int(start[box.rank + 1])
                for number in (box.key - 1, box.key - 2, box.key + 1):
                    if first <= number < last and len(self.draft) < _WANTED:
                        self._instruction(number)
        for event in reversed(self.broken.trace.tolist()):
            if len(self.draft) >= _WANTED:
                return
            kind, number = self.frame.owner(event)
            if kind == "instruction":
                self._instruction(number)


def _parts(axiom: Axiom) -> Iterator[Axiom]:
    if isinstance(axiom, All):
        for each in axiom.axioms:
            yield from _parts(each)
    else:
        yield axiom
