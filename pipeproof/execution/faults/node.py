"""One rank that runs its program, watches the others, and takes its step only with all of them.

A rank that waits for a message in vain asks its sender what it does. Two such looks confirm a
fault: no answer is a stopped rank, an operation that still runs is a late operation, a message
that was sent and has not come is late, or lost once it is waited for no longer. What comes is
compared with what is expected and with what the sender has in its records.

Before anything is applied, others run each operation again, and all ranks tell each other in two
rounds what they found. Two rounds make them agree even if one of them stops in the first.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pipeproof.execution._events import Transfer
from pipeproof.execution._memory import flat
from pipeproof.execution.faults._asking import Asking, Manner, Pause, Steps, opinion
from pipeproof.execution.faults._said import (
    HOPELESS,
    conditions,
    findings_in,
    late,
    spoilt,
    value_text,
)
from pipeproof.execution.faults.findings import Answer, Finding, Place, merged, place_of
from pipeproof.execution.faults.injections import Injection, What
from pipeproof.execution.faults.ledgers import Bit, Flip
from pipeproof.execution.faults.localise import Entry, against
from pipeproof.execution.faults.packets import Body, Data, Wire
from pipeproof.execution.faults.split import Part
from pipeproof.execution.faults.states import digest
from pipeproof.ir.actions import COMPUTE, Kind

__all__ = ["Ended", "Manner", "Node"]

_PEERS = 2  # that run an operation again
_TRIES = 3
_TOLD = (*COMPUTE, Kind.SEND, Kind.STEP)
_ANEW = (Answer.WRONG_VALUE, Answer.DISAGREEMENT, Answer.PRECONDITIONS)


class Ended(NamedTuple):
    """How a rank ended.

    `outcome` is stepped, raised, skipped, not recovered, stopped or missing. `before` and `after`
    are digests of the weights of its stages. `differs` says where its numbers first were not those
    of the unsplit model, in the last attempt.
    """

    rank: int
    outcome: str
    findings: tuple[Finding, ...]
    before: Mapping[int, str]
    after: Mapping[int, str]
    differs: str = ""
    attempts: int = 1


class _StoppedError(Exception):
    """This rank does nothing any more."""


class Node(Asking):
    """One rank of a run in which at most one thing goes wrong on purpose."""

    def __init__(
        self,
        rank: int,
        make: Callable[[Flip | None], Part],
        injection: Injection | None,
        wire: Wire,
        manner: Manner,
    ) -> None:
        self.make = make
        self.injection = injection if injection and injection.rank == rank else None
        self._begin_attempt(rank, 0)
        super().__init__(rank, self.part.run.schedule.ranks, wire, manner)
        self.before = self._weights()
        self.settled: tuple[Finding, ...] = ()
        self.late: tuple[Finding, ...] = ()

    def _begin_attempt(self, rank: int, attempt: int) -> None:
        """Begin from the weights before the step; what goes wrong on purpose does so once."""
        self.now = self.injection if attempt == 0 else None
        self.part = self.make(self._flip())
        self.taken: set[int] = set()
        self.asked_again: set[int] = set()
        self.deferred: list[int] = []
        self.program = [
            number
            for number, rows in enumerate(self.part.events.rows)
            if int(self.part.ops.rank[rows[0]]) == rank
        ]

    def _flip(self) -> Flip | None:
        fault = self.now
        if fault is None or fault.what is not What.TURNED:
            return None
        place = fault.place(self.part.run if hasattr(self, "part") else self.make(None).run)
        if place.message:
            return None
        return Flip(place.stage, place.microbatch, place.direction, Bit(fault.bit), element=1)

    def _weights(self) -> dict[int, str]:
        held, placement = self.part.weights, self.part.run.placement
        weights = self.part.asked.weights
        return {
            stage: digest([held.current(stage, k) for k in weights])
            for stage, home in enumerate(placement)
            if home == self.rank
        }

    # the whole run

    def main(self) -> Steps[Ended]:
        """Run the program to its end, or as far as it goes."""
        try:
            outcome = yield from self._run()
        except _StoppedError:
            self.mute, outcome = True, "stopped"
        first = self.part.differing
        differs = first.text if first is not None and not self.mute else ""
        found = merged(self.settled, self.findings)
        after, attempts = self._weights(), self.attempt + 1
        return Ended(self.rank, outcome, found, self.before, after, differs, attempts)

    def _run(self) -> Steps[str]:
        if self.injection is not None and self.injection.what is What.MISSING:
            self.mute = True
            return "missing"
        yield from self._all("hello")
        outcome = "again"
        while outcome == "again":
            yield from self._program()
            outcome = self._decided((yield from self._boundary()))
            if outcome == "again":
                self.settled, self.findings = merged(self.settled, self.findings), ()
                self.attempt, self.alarmed = self.attempt + 1, False
                self._begin_attempt(self.rank, self.attempt)
        if outcome == "stepped":
            self.part.play([*self.deferred, self.part.events.ends + self.rank])
        if self.now is not None and self.now.what is What.STOPS:
            raise _StoppedError  # it stops behind its last instruction
        known = self.findings
        yield from self._all("end")
        self.findings = merged(known, self.late, late(self.findings, known))
        return outcome

    def _all(self, what: str, number: int = 0, body: Body = None) -> Steps[list[Body]]:
        """Tell everybody something, and hear the same of everybody."""
        self.tell(what, number, body)
        found = []
        for peer in self.others:
            found.append((yield from self.hear(what, peer, number)))
        if what == "hello" and any(each.answer is Answer.MISSING for each in self.findings):
            self.alarm()
        return found

    # the program

    def _program(self) -> Steps[None]:
        for number in self.program:
            fault = self.now
            position = self.part.events.position(self.part.events.rows[number][0])
            if fault and fault.what is What.STOPS and position >= fault.position:
                raise _StoppedError
            if self.alarmed or not (yield from self._instruction(number)):
                return

    def _instruction(self, number: int) -> Steps[bool]:
        part, rows = self.part, self.part.events.rows[number]
        if not (yield from self._receive_all(2 * number)):
            return False
        told = [row for row in rows if int(part.ops.kind[row]) in _TOLD]
        for row in told:
            self.tell("at", body=place_of(part.ops, row))
        if told:
            self.doing = (place_of(part.ops, told[-1]), self.wire.now())
        fault = self.now
        if fault and fault.what is What.DELAYED and fault.row in rows:
            place = fault.place(part.run)
            if not place.message:
                self.doing = (place, self.wire.now())
                yield Pause(self.wire.now() + fault.windows * self.manner.window, busy=True)
        part.play([2 * number])
        self.doing = None
        for row in rows:
            if row in part.events.sent:
                self._post(part.events.sent[row], row)
        if not (yield from self._receive_all(2 * number + 1)):
            return False
        if any(int(part.ops.kind[row]) == Kind.STEP for row in rows):
            self.deferred.append(2 * number + 1)
        else:
            part.play([2 * number + 1])
        return True

    def _post(self, number: int, row: int) -> None:
        """Let a message leave, and do to it what is to go wrong."""
        message, to = self.part.hands_out(number), int(self.part.ops.peer[row])
        if self.part.is_own(number):
            return
        right = Data(int(self.part.ops.value[row]), digest([message.data]), message.data)
        self.records[self.attempt, number] = right
        self.times[self.attempt, number] += 1
        fault = self.now if self.now is not None and self.now.row == row else None
        what = fault.what if fault else None
        if what is What.DROPPED:
            return
        delay = fault.windows * self.manner.window if fault and what is What.DELAYED else 0.0
        self.send(to, "data", number, spoilt(right, fault), delay)
        if what is What.DUPLICATED:
            self.send(to, "data", number, right)

    # messages

    def _receive_all(self, event: int) -> Steps[bool]:
        for number in self.part.needs.get(event, ()):
            if number not in self.taken and not (yield from self._receive(number)):
                return False
        return True

    def _receive(self, number: int) -> Steps[bool]:
        """Wait for a message until it has come as it should; False if it is given up."""
        transfer = self.part.events.transfers[number]
        sender, at = int(self.part.ops.rank[transfer.send]), place_of(self.part.ops, transfer.send)
        if self.part.is_own(number):
            self.part.play([self.part.events.first_transfer + 2 * number + 1])
            self.taken.add(number)
            return True
        for _ in range(_TRIES):
            body = yield from self.hear("data", sender, number, at)
            if isinstance(body, Data):
                wrong = self._wrong(body, transfer)
                if wrong is None:
                    self.part.takes_in(number, body.numbers)
                    self.taken.add(number)
                    return True
                yield from self._confirm(*wrong, at, number, body)
            if self.alarmed or not self._can_go_on(at):
                break
            self.inbox.pop(("data", self.attempt, number, sender), None)
            self.asked_again.add(number)
            self.send(sender, "again", number)
        self.alarm()
        return False

    def _can_go_on(self, at: Place) -> bool:
        """Whether what is wrong with a message has been confirmed, and is to be made good."""
        claimed = [each.answer for each in self.findings if each.place == at]
        good = any(each not in HOPELESS for each in claimed)
        return self.manner.policy == "recover" and good

    def _wrong(self, data: Data, transfer: Transfer) -> tuple[Answer, str] | None:
        ops = self.part.ops
        wanted = int(ops.value[transfer.receive])
        if data.value != wanted:
            return Answer.IDENTITY, f"it says that it is {value_text(ops, data.value)}"
        shape = self._shape(transfer.send)
        if tuple(data.numbers.shape) != shape:
            return Answer.SHAPE, f"its shape is {tuple(data.numbers.shape)} instead of {shape}"
        if digest([data.numbers]) != data.digest:
            return Answer.WRONG_VALUE, "its numbers are not those that it says it holds"
        return None

    def _shape(self, row: int) -> tuple[int, ...]:
        return tuple(flat(self.part.reference.value(int(self.part.ops.value[row]))).shape)

    def _confirm(
        self, answer: Answer, said: str, at: Place, number: int, came: Data
    ) -> Steps[None]:
        """Compare what came with the records of its sender, and claim a fault if they differ."""
        status = yield from self.records_of(at.rank, number)
        if status is None or not status.sent:
            self.claim(Answer.CANNOT, at, said, "and its sender says nothing of it")
            return
        text = f"{value_text(self.part.ops, status.value)} of shape {status.shape}"
        own = (came.value, tuple(came.numbers.shape), digest([came.numbers]))
        if own == (status.value, status.shape, status.digest):
            self.claim(Answer.CANNOT, at, said, f"and its sender has sent this: {text}")
        else:
            self.claim(answer, at, said, f"its sender has {text} in its records")

    # the boundary

    def _boundary(self) -> Steps[tuple[Finding, ...]]:
        """Come together before anything is applied; return what all ranks know then."""
        yield from self._rest()
        yield from self._all("done")
        if not self.alarmed:
            yield from self._doubled()
            yield from self._audit()
        said = yield from self._all("vote", 1, self.findings)
        known = merged(self.findings, *map(findings_in, said))
        self.findings = known
        again = yield from self._all("vote", 2, known)
        self.late = late(self.findings, known)  # no answer in this round decides nothing
        self.findings = merged(known, *map(findings_in, again))
        return self.findings

    def _rest(self) -> Steps[None]:
        """Wait for what this rank receives and waits for nowhere."""
        for number, transfer in enumerate(self.part.events.transfers):
            own = transfer.receive >= 0 and self.part.ops.rank[transfer.receive] == self.rank
            if own and transfer.send >= 0 and number not in self.taken and not self.alarmed:
                yield from self._receive(number)

    def _doubled(self) -> Steps[None]:
        for number in sorted(self.taken):
            transfer = self.part.events.transfers[number]
            sender = int(self.part.ops.rank[transfer.send])
            came = self.came["data", self.attempt, number, sender]
            if self.part.is_own(number) or came < 2 or number in self.asked_again:  # noqa: PLR2004
                continue
            status = yield from self.records_of(sender, number)
            if status is not None and status.sent < came:
                said = f"it came {came} times"
                at = place_of(self.part.ops, transfer.send)
                self.claim(Answer.DOUBLED, at, said, f"its sender has sent it {status.sent} times")

    def _audit(self) -> Steps[None]:
        """Let two others run every operation again on its state, and the doubtful ones twice."""
        count = len(self.others) + 1
        peers = [(self.rank + n) % count for n in range(1, count)][:_PEERS]
        entries = tuple(self.part.ledger)
        made = yield from self._replayed(peers, 2 * self.attempt, entries)
        doubtful = [n for n, each in enumerate(made) if len(set(each.values())) > 1]
        again = yield from self._replayed(
            peers, 2 * self.attempt + 1, tuple(entries[n] for n in doubtful)
        )
        for n, second in zip(doubtful, again, strict=True):
            self._judge(entries[n], made[n], second)

    def _replayed(
        self, peers: list[int], number: int, entries: tuple[Entry, ...]
    ) -> Steps[list[dict[int, str]]]:
        """Return what each rank says that it works on and makes, for every operation."""
        found = [{self.rank: opinion(each, each.outputs)} for each in entries]
        for peer in peers if entries else ():
            self.send(peer, "audit", number, entries)
        for peer in peers if entries else ():
            body = yield from self.hear("audited", peer, number)
            if isinstance(body, tuple):
                for each, said in zip(found, body, strict=True):
                    each[peer] = str(said)
        return found

    def _judge(self, entry: Entry, made: dict[int, str], again: dict[int, str]) -> None:
        place = Place(*entry.operation)
        if any(len(set(conditions(each))) > 1 for each in (made, again)):
            said = f"ranks {sorted(made)} do not work on the same"
            self.claim(Answer.PRECONDITIONS, place, said, "no output is compared")
            return
        odd = against(made)
        if len(odd) != 1 or against(again) != odd:
            said = f"ranks {sorted(made)} do not make the same"
            self.claim(Answer.DISAGREEMENT, place, said, "run again, they still do not")
            return
        others = len(made) - 1
        self.claim(
            Answer.WRONG_VALUE,
            place._replace(rank=odd[0]),
            f"{others} ranks that run it on its state make something else",
            "they make the same again",
        )

    def _decided(self, findings: tuple[Finding, ...]) -> str:
        """Return what becomes of the step: the same on every rank that knows the same."""
        if not findings:
            return "stepped"
        if self.manner.policy != "recover":
            return "raised" if self.manner.policy == "raise" else "skipped"
        new = [each for each in findings if not each.place.message and each.answer in _ANEW]
        hopeless = self.alarmed or any(each.answer in HOPELESS for each in findings)
        if hopeless or (new and self.attempt):
            return "not recovered"
        return "again" if new else "stepped"
