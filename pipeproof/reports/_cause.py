"""From a violation to its slice: places, what they wait for or lack, and what comes to them."""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE, IntArray
from pipeproof.ir.sets import among
from pipeproof.reports._boxes import Boxes
from pipeproof.reports._culprits import culprits
from pipeproof.reports._slice import Means, Slice, State
from pipeproof.reports._touched import Touched
from pipeproof.semantics.found import Finding
from pipeproof.semantics.logic import All, AtMost, Axiom, Empty, Enforced
from pipeproof.semantics.model import Model
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations.bounds import lifetimes
from pipeproof.semantics.waiting import Link, Node, cycles
from pipeproof.verdict.decision import Broken

__all__ = ["cause"]

_WANTED = 14  # boxes up to which what comes before is drawn
_NEAR = 10  # the same where what a place is at odds with is known: the programs around both
_RELATED = 16
_TOGETHER = ("PP1", "PP6", "PP7", "PP8")
_OPERATION = re.compile(r"(\d{1,9})[A-Z]+(\d{0,9})(?: or .*)?")
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


class _Cause(Boxes):
    def __init__(self, model: Model, broken: Broken, lines: Mapping[tuple[int, int], str]) -> None:
        super().__init__(model, broken, lines)
        self.touched = Touched(self.frame)
        self.core: list[int] = []
        self.odd: list[int] = []

    def slice(self, title: tuple[str, ...]) -> Slice:
        finding = self.broken.finding
        for spot in finding.spots:
            key = self._end(spot.event - self.frame.ends) if spot.row < 0 else self._row(spot.row)
            self._name(key)
        self._wait_cycle()
        for axiom in _parts(self.broken.rule.axiom):
            if isinstance(axiom, Enforced):
                self._unordered(axiom, finding)
            elif isinstance(axiom, AtMost) and self.model.is_bounded(axiom.measure):
                self._held(axiom, finding)
            elif isinstance(axiom, Empty) and axiom.rel.name == "overfull":
                self._live(finding)
        self._mark_first()
        self._missing(finding)
        for row, place, means, label in culprits(self.frame, self.broken):
            self.odd.append(self._row(row))
            self.draft.join(self.odd[-1], self._row(place), means, label)
        self.core = [key for key in self.draft.boxes if key < self.frame.instructions]
        rows = [row for key in self.core for row in self._rows(key)]
        for row in rows:
            self._partner(row)
            self._stored(row)
            self._weights(row)
        if self.odd:
            self._around(_NEAR)
        else:
            self._related(rows)
            self._supplied()
            self._before()
        self._between()
        return self.draft.finished(title)

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
                ends = [(self._node(link.waits), self._node(link.other)) for link in cycle.links]
                alone = len({key for pair in ends for key in pair}) == 1
                for link, (one, other) in zip(cycle.links, ends, strict=True):
                    self._link(link, one)
                    if one != other or alone:
                        self.draft.join(one, other, Means.WAITS)
                return

    def _link(self, link: Link, key: int) -> None:
        """Write into a box what it waits for."""
        rank, row = link.other.rank, link.waits.row
        said = f"waits for rank {rank}" if rank != link.waits.rank else ""
        if link.slot:
            said = f"waits for a slot that {link.slot} is yet to leave"
        elif said and link.waits.posted and self.frame.run.is_message[row]:
            sends = self.frame.ops.kind[row] == Kind.SEND
            value = self.frame.ops.value_text(int(self.frame.ops.value[row]))
            said += f" to {'take' if sends else 'send'} {value}"
        if said:
            self.draft.note(key, said)

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

    def _live(self, finding: Finding) -> None:
        """Take in the forwards that are live where too many are, nearest first."""
        forwards, last = lifetimes(self.frame)
        for spot in finding.spots:
            row, ranks = spot.row, self.frame.ops.rank
            own = (ranks[forwards] == ranks[row]) & (forwards <= row)
            own &= (last < 0) | (last >= row)
            live = forwards[own].tolist()
            for n, each in [*enumerate(live, 1)][::-1][:_RELATED]:
                self.draft.note(self._row(each), f"live: {n} of {len(live)}")

    def _missing(self, finding: Finding) -> None:
        """Take in what stands nowhere: an operation, or the other ends of messages."""
        facts, frame = finding.facts, self.frame
        found = _OPERATION.fullmatch(facts.get("op", "")) if not finding.spots else None
        if found is not None:
            stage, ops = int(found[1]), frame.ops
            self._nowhere(frame.run.placement[stage], facts["op"])
            alike = np.flatnonzero((ops.stage == stage) & ops.is_kind(*_COMPUTE, *_GATHERED))
            other = ops.microbatch[alike] != int(found[2] or NONE)
            for row in alike[np.argsort(other, kind="stable")][:_WANTED].tolist():
                self._row(row)
        if {"source", "destination"} <= facts.keys() and not finding.spots:
            pairing, ops = frame.pairing, frame.ops
            lone = np.flatnonzero((pairing.send < 0) | (pairing.receive < 0))
            for row in np.maximum(pairing.send[lone], pairing.receive[lone]).tolist():
                ends = {int(ops.rank[row]), int(ops.peer[row])}
                if ends == {int(facts["source"]), int(facts["destination"])}:
                    self._name(self._row(row))

    # what belongs to it

    def _partner(self, row: int) -> None:
        """Draw the message of a row, and where it is taken for another one what that one is."""
        frame, ops = self.frame, self.frame.ops
        if ops.kind[row] in (Kind.SIGNAL, Kind.AWAIT):
            self._signal(row)
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
        self._message(transfer)
        if self._is_crossed(transfer):
            self._meant(transfer)

    def _message(self, transfer: int) -> None:
        pairing = self.frame.pairing
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        if min(send, receive) >= 0:
            means = Means.CROSSED if self._is_crossed(transfer) else Means.MESSAGE
            said = self._carried(send, receive)
            self.draft.join(self._row(send), self._row(receive), means, said)

    def _is_crossed(self, transfer: int) -> bool:
        """Whether a receive names another value than the message that it gets."""
        ops, pairing = self.frame.ops, self.frame.pairing
        sent, wanted = ops.value[pairing.send[transfer]], ops.value[pairing.receive[transfer]]
        return bool(wanted >= 0 and sent != wanted)

    def _signal(self, row: int) -> None:
        signals, awaits, lone = pair_signals(self.frame.run)
        for one, other in zip(signals.tolist(), awaits.tolist(), strict=True):
            if row in (one, other):
                self.draft.join(self._row(one), self._row(other), Means.MESSAGE, "signal")
        if row in lone:
            key = self._nowhere(int(self.frame.ops.peer[row]), "no signal for this")
            self.draft.join(key, self._row(row), Means.MESSAGE, "signal")

    def _carried(self, send: int, receive: int) -> str:
        ops = self.frame.ops
        said = ops.value_text(int(ops.value[send]))
        if self._is_crossed(int(self.frame.pairing.of_row[receive])):
            said += f" as {ops.value_text(int(ops.value[receive]))}"
        for row, word in ((send, "from"), (receive, "into")):
            slot = self.touched.slot(row)
            said += f" {word} {slot}" if slot else ""
        return said

    def _meant(self, transfer: int) -> None:
        """Draw the send that a crossed receive names, and the receive that names a crossed send."""
        ops, pairing = self.frame.ops, self.frame.pairing
        send, receive = int(pairing.send[transfer]), int(pairing.receive[transfer])
        sent, wanted = ops.value[send], ops.value[receive]
        own = np.flatnonzero(pairing.channel == pairing.channel[transfer])
        named = [r for r in pairing.send[own].tolist() if r >= 0 and ops.value[r] == wanted]
        for row in named[:1]:
            self._message(int(pairing.of_row[row]))
            self.draft.join(self._row(row), self._row(receive), Means.MEANT)
        taken = [r for r in pairing.receive[own].tolist() if r >= 0 and ops.value[r] == sent]
        for row in taken[:1]:
            self._message(int(pairing.of_row[row]))
            self.draft.join(self._row(send), self._row(row), Means.MEANT)

    def _stored(self, row: int) -> None:
        for before, after, said in self.touched.around(row):
            self.draft.join(self._row(before), self._row(after), Means.CONTENT, said)

    def _weights(self, row: int) -> None:
        if not self._is_about_weights():
            return
        for made, said in self.touched.versions(row):
            self.draft.note(self._row(row), f"reads {said}")
            if made >= 0:
                self.draft.join(self._row(made), self._row(row), Means.VERSION, said)

    def _related(self, rows: list[int]) -> None:
        """Take in the operations of the same microbatch on the same stage, or that add up."""
        if not self.broken.rule.code.startswith(_TOGETHER):
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
            if key not in self.core and self._state(key) is State.LATER:
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
        return self._is_there(row) or len(self.draft) < _WANTED

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

    def _between(self) -> None:
        """Draw the messages between what is there, and write down the weights that it reads."""
        about_weights = self._is_about_weights()
        for key in [key for key in self.draft.boxes if key < self.frame.instructions]:
            for row in self._rows(key):
                self._told_between(row)
                for _, said in self.touched.versions(row) if about_weights else ():
                    self.draft.note(key, f"reads {said}")

    def _told_between(self, row: int) -> None:
        pairing = self.frame.pairing
        transfer = int(pairing.of_row[row])
        if transfer >= 0:
            ends = int(pairing.send[transfer]), int(pairing.receive[transfer])
            if min(ends) >= 0 and all(map(self._is_there, ends)):
                self._message(transfer)

    def _is_there(self, row: int) -> bool:
        return int(self.frame.ops.instruction[row]) in self.draft

    def _is_about_weights(self) -> bool:
        return self.broken.rule.code.startswith(_WEIGHTS)


def _parts(axiom: Axiom) -> Iterator[Axiom]:
    if isinstance(axiom, All):
        for each in axiom.axioms:
            yield from _parts(each)
    else:
        yield axiom
