"""One rank's part of a replay: its instructions here, and messages handed out and brought in."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torch import Tensor

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._memory import Message
from pipeproof.execution.faults.ledgers import Flip, Recorded, prepared
from pipeproof.execution.orders import Guards
from pipeproof.execution.witness import EXACT, Witness
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match

__all__ = ["Part", "Setting", "part", "refused"]

_ACROSS = (Kind.COLL, Kind.SIGNAL, Kind.AWAIT, Kind.TIE, Kind.NORM)
_AFTER = (Kind.STEP, Kind.SKIP, Kind.ZERO, Kind.FREE, Kind.DROP, Kind.WAIT, Kind.STALE)


def refused(run: AsRun) -> str:
    """Return why the ranks of a schedule cannot be run apart, empty where they can."""
    ops = run.operations
    if run.copies > 1 or run.schedule.ids_per_step < run.microbatches:
        return "more than one step is not run with faults"
    for row in range(len(ops)):
        kind = Kind(int(ops.kind[row]))
        if kind in _ACROSS or "comm" in ops.attributes.get(row, {}):
            return f"{kind.name} between ranks is not run with faults"
    for rank in range(run.schedule.ranks):
        rows = (ops.rank == rank).nonzero()[0]
        kinds = [Kind(int(ops.kind[row])) for row in rows]
        behind = kinds[kinds.index(Kind.STEP) :] if Kind.STEP in kinds else []
        late = next((kind for kind in behind if kind not in _AFTER), None)
        if late is not None:
            return f"{late.name} behind the step of its rank is not run with faults"
    return ""


class Setting(NamedTuple):
    """A schedule under one transport, and the model that it is run on.

    With `exact` the exact witness asserts that its numbers are whole; what is turned on purpose
    need not be.
    """

    run: AsRun
    match: Match
    guards: Guards
    witness: str = EXACT
    seed: int = 0
    exact: bool = True


class _Lenient(Witness):
    """A witness that takes numbers as they are."""

    def assert_exact(self, *numbers: Tensor) -> None:
        """Check nothing."""


class Part(Recorded):
    """A replay of which one rank plays its own events, and others their own elsewhere."""

    def __init__(
        self,
        run: AsRun,
        match: Match,
        model: Witness,
        needs: Mapping[int, tuple[int, ...]],
        flip: Flip | None,
    ) -> None:
        super().__init__(run, match, model, flip=flip)
        self.needs = needs

    def hands_out(self, number: int) -> Message:
        """Let a message leave this rank, read where it stands now; return what it carries."""
        self.play([self.events.first_transfer + 2 * number])
        return self._messages[number]

    def takes_in(self, number: int, data: Tensor) -> None:
        """Let a message arrive on this rank."""
        value = int(self.ops.value[self.events.transfers[number].send])
        self._messages[number] = Message(data.reshape(-1), value)
        self.play([self.events.first_transfer + 2 * number + 1])

    def is_own(self, number: int) -> bool:
        """Whether a message stays on its rank."""
        each = self.events.transfers[number]
        return bool(self.ops.rank[each.send] == self.ops.rank[each.receive])


def part(setting: Setting, flip: Flip | None = None) -> Part:
    """Return one rank's replay that has not begun; which rank it is is up to what is played.

    Raises:
        UnsupportedFeatureError: the schedule cannot be run so.
    """
    why = refused(setting.run)
    if why:
        raise UnsupportedFeatureError(why)
    made = prepared(setting.run, setting.witness, setting.seed)
    if not setting.exact:
        data = (made.name, made.stages, made.microbatches, made.seed, made.scale, made.alike)
        made = _Lenient(*data, made.tall, made.short)
    found = Part(setting.run, setting.match, made, {}, flip)
    found.needs = _needs(found, setting.guards)
    return found


def _needs(found: Part, guards: Guards) -> dict[int, tuple[int, ...]]:
    """Return the messages that must have arrived on its rank before an event, by event."""
    before = defaultdict[int, list[int]](list)
    for first, then in zip(guards.before.tolist(), guards.after.tolist(), strict=True):
        before[then].append(first)
    events = found.events
    return {
        event: tuple(sorted(set(_arrivals(found, before, event))))
        for event in range(events.first_transfer)
    }


def _arrivals(found: Part, before: Mapping[int, list[int]], event: int) -> Iterator[int]:
    """Yield the messages whose arrival an event waits for, through gates but not other events."""
    events, seen, open_ = found.events, set[int](), list(before.get(event, ()))
    while open_:
        each = open_.pop()
        if each in seen:
            continue
        seen.add(each)
        if each >= len(events):
            open_.extend(before.get(each, ()))
        elif each >= events.first_transfer and (each - events.first_transfer) % 2:
            transfer = events.transfers[(each - events.first_transfer) // 2]
            if transfer.receive >= 0 and _rank(found, event) == int(
                found.ops.rank[transfer.receive]
            ):
                yield (each - events.first_transfer) // 2


def _rank(found: Part, event: int) -> int:
    if event >= found.events.ends:
        return event - found.events.ends
    return int(found.ops.rank[found.events.rows[event // 2][0]])
