"""What a rank does while it waits: it looks twice, asks, and tells four kinds of fault apart."""

from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from torch import Tensor

from pipeproof.execution.faults.findings import Answer, Finding, Place, merged
from pipeproof.execution.faults.localise import Entry
from pipeproof.execution.faults.packets import Body, Data, Packet, Status, Wire
from pipeproof.execution.faults.states import carried_out, digest
from pipeproof.ir.faults import Policy

__all__ = ["Asking", "Manner", "Pause", "Steps", "opinion"]

_PATIENCE = 12  # windows that anything is waited for
_BEGINNING = 60  # windows that a rank may take to begin, as long as it answers
_TWICE = 2
_GRACE = 4  # looks after which a message that was sent is lost
_T = TypeVar("_T")


class Manner(NamedTuple):
    """How ranks watch: how long a look is, in seconds, and what they do about a fault."""

    window: float = 1.0
    policy: Policy = "raise"


class Pause(NamedTuple):
    """A rank rests until a time, or until a packet comes unless it is busy."""

    until: float
    busy: bool = False


Steps = Generator[Pause, None, _T]


@dataclass(slots=True)
class _Looks:
    """What the looks at one thing have shown so far."""

    silent: int = 0
    sent: int = 0
    busy: dict[Place, list[str]] = field(default_factory=dict)


class Asking:
    """The part of a rank that waits, asks and answers."""

    def __init__(self, rank: int, ranks: int, wire: Wire, manner: Manner) -> None:
        self.rank, self.wire, self.manner = rank, wire, manner
        self.others = [each for each in range(ranks) if each != rank]
        self.attempt, self.mute, self.alarmed = 0, False, False
        self.findings: tuple[Finding, ...] = ()
        self.inbox: dict[tuple[str, int, int, int], Packet] = {}
        self.came: Counter[tuple[str, int, int, int]] = Counter()
        self.records: dict[tuple[int, int], Data] = {}
        self.times: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.gone: set[int] = set()
        self.at: dict[int, Place] = {}
        self.doing: tuple[Place, float] | None = None
        self.waits = False
        self._questions = 0

    # packets

    def send(
        self, to: int, what: str, number: int = 0, body: Body = None, delay: float = 0.0
    ) -> None:
        """Send a packet, unless this rank has fallen silent."""
        if not self.mute:
            self.wire.send(to, Packet(what, self.rank, self.attempt, number, body), delay)

    def tell(self, what: str, number: int = 0, body: Body = None) -> None:
        """Send a packet to everybody else."""
        for each in self.others:
            self.send(each, what, number, body)

    def on_packet(self, packet: Packet) -> None:
        """Take a packet, and answer it at once if it asks for something."""
        if self.mute:
            return
        body = packet.body
        if packet.what == "ask" and isinstance(body, int):
            told = self._status(packet.attempt, body)
            self._reply(packet, "status", told)
        elif packet.what == "again":
            self._again(packet)
        elif packet.what == "audit" and isinstance(body, tuple):
            entries = (each for each in body if isinstance(each, Entry))
            self._reply(packet, "audited", tuple(map(opinion, entries)))
        elif packet.what == "at" and isinstance(body, Place):
            self.at[packet.sender] = body
        elif packet.what == "alarm" and isinstance(body, tuple):
            self.findings = merged(self.findings, _only_findings(body))
            self.alarmed = True
        else:
            key = (packet.what, packet.attempt, packet.number, packet.sender)
            self.inbox.setdefault(key, packet)
            self.came[key] += 1

    def _reply(self, packet: Packet, what: str, body: Body) -> None:
        self.wire.send(packet.sender, Packet(what, self.rank, packet.attempt, packet.number, body))

    def _status(self, attempt: int, number: int) -> Status:
        doing, since = self.doing or (None, 0.0)
        seconds = self.wire.now() - since if doing is not None else 0.0
        record = self.records.get((attempt, number))
        if record is None:
            return Status(doing, seconds, self.waits, 0)
        shape, times = tuple(record.numbers.shape), self.times[attempt, number]
        return Status(doing, seconds, self.waits, times, record.value, shape, record.digest)

    def _again(self, packet: Packet) -> None:
        record = self.records.get((packet.attempt, packet.number))
        if record is not None:
            self.times[packet.attempt, packet.number] += 1
            self._reply(packet, "data", record)

    # claims

    def claim(self, answer: Answer, place: Place, *confirmations: str) -> None:
        """Note a fault that two looks have confirmed."""
        own = (Finding(answer, place, confirmations, self.rank),)
        self.findings = merged(self.findings, own)

    def alarm(self) -> None:
        """Let everybody give the iteration up."""
        if not self.alarmed:
            self.alarmed = True
            self.tell("alarm", body=self.findings)

    # waiting

    def until(self, holds: Callable[[], bool]) -> Steps[bool]:
        """Rest until something holds, one window at most."""
        end = self.wire.now() + self.manner.window
        while not holds() and self.wire.now() < end:
            yield Pause(end)
        return holds()

    def ask(self, peer: int, number: int, holds: Callable[[], bool]) -> Steps[Status | None]:
        """Ask a rank what it does and what it knows of a message; None if it does not answer."""
        self._questions += 1
        key = ("status", self.attempt, self._questions, peer)
        self.send(peer, "ask", self._questions, number)
        yield from self.until(lambda: key in self.inbox or holds())
        packet = self.inbox.get(key)
        return packet.body if packet and isinstance(packet.body, Status) else None

    def records_of(self, peer: int, number: int) -> Steps[Status | None]:
        """Ask a rank for what it knows of a message, twice if it has to be."""
        for _ in range(_TWICE):
            status = yield from self.ask(peer, number, lambda: False)
            if status is not None:
                return status
        return None

    def hear(self, what: str, peer: int, number: int, at: Place | None = None) -> Steps[Body]:
        """Wait for a packet of a rank; None if it is given up, and a claim then says why.

        Args:
            what: which kind of packet.
            peer: of whom.
            number: which one.
            at: the message of the schedule that is waited for, if it is one.
        """
        key, looks = (what, self.attempt, number, peer), _Looks()

        def there() -> bool:
            return key in self.inbox or (at is not None and self.alarmed)

        self.waits = True
        patience = _BEGINNING if what == "hello" else _PATIENCE
        for _ in range(patience if peer not in self.gone else 0):
            if (yield from self.until(there)):
                break
            status = yield from self.ask(peer, number if at else -1, there)
            if there() or self._weigh(looks, status, peer, what, at):
                break
        self.waits = False
        packet = self.inbox.get(key)
        self._conclude(looks, peer, at, came=packet is not None)
        return packet.body if packet else None

    def _weigh(
        self, looks: _Looks, status: Status | None, peer: int, what: str, at: Place | None
    ) -> bool:
        """Note one look; return whether nothing more is waited for."""
        if status is None:
            looks.silent += 1
            if looks.silent < _TWICE:
                return False
            answer = Answer.MISSING if what == "hello" else Answer.STOPPED
            said = f"nothing of {at or what} came, and no answer"
            place = self.at.get(peer, Place(peer))
            self.claim(answer, place, said, "asked once more, no answer")
            self.gone.add(peer)
            return True
        looks.silent = 0
        if at is not None and status.sent:
            looks.sent += 1
            return looks.sent == _GRACE
        if status.doing is not None and 2 * status.seconds >= self.manner.window:
            seen = looks.busy.setdefault(status.doing, [])
            seen.append(f"its rank was in it for {status.seconds:.2g} s")
            if len(seen) == _TWICE:
                self.claim(Answer.LATE_OPERATION, status.doing, *seen)
        return False

    def _conclude(self, looks: _Looks, peer: int, at: Place | None, *, came: bool) -> None:
        if at is None or peer in self.gone:
            if not came and peer not in self.gone:
                self.claim(Answer.CANNOT, Place(peer), "it answers", "and comes to no end")
            return
        seen = f"sent, by the records of its rank, and not there after {looks.sent} looks"
        if came and looks.sent >= _TWICE:
            self.claim(Answer.LATE_MESSAGE, at, seen, "it came behind them, as it was sent")
        elif not came and looks.sent >= _GRACE:
            self.claim(Answer.LOST, at, seen, "given up")
        elif not came and not self.alarmed:
            self.claim(Answer.CANNOT, at, "it is not sent", "and its rank comes to no end")


def opinion(entry: Entry, outputs: tuple[Tensor, ...] | None = None) -> str:
    """Return on what an operation works and what it makes, run anew without `outputs`."""
    conditions = entry.state.preconditions()
    weights = digest(entry.state.weights)
    made = carried_out(entry.run, entry.state) if outputs is None else outputs
    return f"{' '.join(conditions.values())} {weights}|{digest(made)}"


def _only_findings(body: tuple[object, ...]) -> tuple[Finding, ...]:
    return tuple(each for each in body if isinstance(each, Finding))
