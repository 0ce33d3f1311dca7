"""A schedule on streams: run, compared with the unsplit model, its counterexamples looked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.errors import ReplayMismatchError, UnsupportedFeatureError
from pipeproof.execution._memory import same
from pipeproof.execution.confirm import SEEDS, Answer, Claim, Confirmed, Ran
from pipeproof.execution.orders import Events as Numbers
from pipeproof.execution.orders import Guards, Style, extended
from pipeproof.execution.streams._state import Seen
from pipeproof.execution.streams._training import GRADIENT
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.execution.streams.device import Device
from pipeproof.execution.streams.kernels import Kernels
from pipeproof.execution.streams.plan import Lane, Launch, Moment, planned
from pipeproof.execution.witness import InexactError
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.storage import content_text
from pipeproof.ir.transport import Match
from pipeproof.verdict.verdict import TraceStep

__all__ = ["OBSERVED", "Modelled", "Pace", "Running", "confirm", "run_legal"]

OBSERVED = ("PP202", "PP401", "PP403", "PP405", "PP501", "PP502", "PP503", "PP504", "PP505")
"""The rules whose counterexamples streams can show: a read finds other numbers."""

_GRADIENTS = (Kind.REDUCE, Kind.ZERO, Kind.SCALE, Kind.STEP, Kind.SKIP, Kind.B, Kind.W)
_OFTEN, _SHORT, _LONG = 0.7, (0, 3), (60, 90)
_SEEDS = 9
"""How many free orders are tried."""


class Modelled(NamedTuple):
    """A schedule under a transport: what pairs its messages, and what its events wait for."""

    run: AsRun
    match: Match
    guards: Guards


class Pace(Enum):
    """What is slowed down: nothing, reads of what is sent, writes of it, computations, or any.

    All but the last concern every other rank, even or odd ones by the seed.
    """

    FREE = 0
    SENDS = 1
    RECEIVES = 2
    COMPUTE = 3
    ANY = 4


class _Delays:
    """Seeded pauses before what streams are given: short ones, long ones for what is slow."""

    def __init__(self, pace: Pace, seed: int, first_transfer: int) -> None:
        self._pace, self._rng = pace, Random(seed)  # noqa: S311  which order of many
        self._first, self._odd = first_transfer, seed % 2

    def before(self, launch: Launch) -> int:
        """Return for how many units a stream pauses."""
        if self._pace is Pace.FREE:
            return 0
        return self._rng.randint(*(_LONG if self._is_slow(launch) else _SHORT))

    def _is_slow(self, launch: Launch) -> bool:
        if self._pace is Pace.ANY:
            return self._rng.random() > _OFTEN
        if launch.lane.rank % 2 != self._odd:
            return False
        if not launch.lane.copies or launch.event < self._first:
            return self._pace is Pace.COMPUTE
        arrives = (launch.event - self._first) % 2 == 1
        return self._pace is (Pace.RECEIVES if arrives else Pace.SENDS)


class Differs(NamedTuple):
    """A read that found other numbers than those of the unsplit model, or no numbers."""

    seen: Seen
    text: str


class Running:
    """One schedule on one device. Only the exact witness is run: on a GPU too, to the last bit."""

    def __init__(
        self, run: AsRun, match: Match, device: Device, unsplit: Unsplit | None = None
    ) -> None:
        """Put a schedule on a device; nothing has happened yet.

        Args:
            run: the schedule as run.
            match: what pairs a send with a receive.
            device: what it runs on.
            unsplit: the unsplit model beside it, with its data; that of seed 0 if not given.

        Raises:
            UnsupportedFeatureError: something in the schedule is not run on streams.
        """
        torch.set_num_threads(1)
        self.unsplit = Unsplit(run, 0) if unsplit is None else unsplit
        self.run, self.device = run, device
        self.kernels = Kernels(run, match, self.unsplit, device)
        self.events = self.kernels.events
        self._streams: dict[int, int] = {}
        self._recorded: dict[int, int] = {}

    def moments(self, order: Iterable[int]) -> list[Moment]:
        """Return the events of an execution, with reductions that run beside, and their places."""
        pending: dict[tuple[int, int], list[int]] = {}
        rows = self.kernels.training.reductions
        begins = {2 * int(self.kernels.ops.instruction[row]): n for n, row in enumerate(rows)}
        made = []
        for event in order:
            rank = self._lane(event).rank
            ended = self._ended(event, rank, pending)
            made.append(Moment(event, self._lane(event), tuple(ended)))
            if event in begins:
                number = begins[event]
                handle = int(self.kernels.ops.handle[rows[number]])
                pending.setdefault((rank, handle), []).append(-1 - number)
                made.append(Moment(-1 - number, Lane(rank, copies=True), (event,)))
        return made

    def _ended(self, event: int, rank: int, pending: dict[tuple[int, int], list[int]]) -> list[int]:
        """Return the reductions that a WAIT, or the end of a program, waits for."""
        events, ops = self.events, self.kernels.ops
        if event >= events.first_transfer:
            return []
        if event >= events.ends:
            return [each for key in sorted(pending) if key[0] == rank for each in pending.pop(key)]
        row = events.rows[event // 2][0]
        if event % 2 and int(ops.kind[row]) == Kind.WAIT:
            return pending.pop((rank, int(ops.handle[row])), [])
        return []

    def _lane(self, event: int) -> Lane:
        events, ops = self.events, self.kernels.ops
        if event < events.ends:
            return Lane(int(ops.rank[events.rows[event // 2][0]]))
        if event < events.first_transfer:
            return Lane(event - events.ends)
        transfer = events.transfers[(event - events.first_transfer) // 2]
        arrives = (event - events.first_transfer) % 2 == 1
        ends = (transfer.receive, transfer.send) if arrives else (transfer.send, transfer.receive)
        return Lane(int(ops.rank[ends[0] if ends[0] >= 0 else ends[1]]), copies=True)

    def plan(self, guards: Guards, order: Iterable[int], *, forced: bool = False) -> list[Launch]:
        """Return what streams are given for an execution."""
        return planned(guards, self.moments(order), forced=forced)

    def play(self, launches: Iterable[Launch], pace: Pace = Pace.FREE, seed: int = 0) -> None:
        """Give everything to the streams, and wait until it has happened."""
        device, given = self.device, list(launches)
        delays = _Delays(pace, seed, self.events.first_transfer)
        for number in sorted({launch.stream for launch in given}):
            if number not in self._streams:
                self._streams[number] = device.stream()
        device.finish()
        device.hold(len(given))
        for launch in given:
            stream = self._streams[launch.stream]
            for event in launch.waits:
                if event in self._recorded:
                    device.wait(stream, self._recorded[event])
            kernels = list(self.kernels.of(launch.event))
            if kernels:
                device.sleep(stream, delays.before(launch))
            for kernel in kernels:
                device.launch(stream, kernel)
            if launch.awaited:
                self._recorded[launch.event] = device.record(stream)
        device.finish()

    # what was seen

    @property
    def compared(self) -> int:
        """How many reads are compared."""
        return len(self.kernels.seen)

    def differing(self) -> Iterator[Differs]:
        """Yield the reads that found other numbers than those of the unsplit model.

        Raises:
            InexactError: numbers of the exact witness grew too large.
        """
        for seen in self.kernels.seen:
            data = seen.data.cpu()
            self.unsplit.witness.assert_exact(data)
            if not same(data, self._wanted(seen)):
                yield Differs(seen, self._text(seen, data))

    def left_with(self, row: int) -> Iterator[str]:
        """Yield the value that a receive got for another one, into memory of its own."""
        ops = self.kernels.ops
        sends = (each.send for each in self.events.transfers if each.receive == row)
        sent = next((int(ops.value[send]) for send in sends if send >= 0), -1)
        for each in self.kernels.touches.writes[row]:
            if sent < 0 or each.value == sent or each.key[0] < 0:
                continue
            wanted, came = self.unsplit.wanted(each.value), self.unsplit.wanted(sent)
            size = min(wanted.numel(), came.numel())
            data = self.kernels.state.storage(each.key).cpu()[:size]
            if same(data, came[:size]) and not same(data, wanted[:size]):
                what, other = (content_text(ops, value) for value in (each.value, sent))
                yield f"{self.events.text(row)} leaves the numbers of {other} for {what}"

    def _wanted(self, seen: Seen) -> Tensor:
        if seen.value != GRADIENT:
            return self.unsplit.wanted(seen.value)
        stage, k = seen.key
        end = self.kernels.rows.ends.get((seen.row, k)) if seen.row >= 0 else None
        return self.unsplit.reference.update(stage, k, end)

    def _text(self, seen: Seen, data: Tensor) -> str:
        found = "NaN" if bool(data.isnan().any()) else "other numbers"
        if seen.value == GRADIENT:
            where = self.events.text(seen.row) if seen.row >= 0 else "the end of the program"
            return f"{where} finds {found} in the gradient of stage {seen.key[0]}"
        what = content_text(self.kernels.ops, seen.value)
        return f"{self.events.text(seen.row)} reads {found} for {what}{self._in(seen)}"

    def _in(self, seen: Seen) -> str:
        storage, stored = seen.key[1], self.run.storage
        named = seen.key[0] < 0 and stored is not None
        return f" in {stored.labels[storage]}" if named and stored is not None else ""


def run_legal(model: Modelled, device: Device, *, seed: int = 0) -> Ran:
    """Run a whole execution on streams and compare every read with the unsplit model.

    What is slowed down, and in which order things are handed over, depends on the seed.

    Raises:
        InexactError: numbers of the exact witness grew too large.
        UnsupportedFeatureError: something in the schedule is not run on streams.
    """
    running = Running(model.run, model.match, device, Unsplit(model.run, seed))
    numbers = _numbers(running)
    order = extended(model.guards, numbers, style=list(Style)[seed % len(Style)], seed=seed)
    running.play(running.plan(model.guards, order), list(Pace)[seed % len(Pace)], seed)
    wrong = next((each.text for each in running.differing()), "")
    if not wrong and len(order) < numbers.number:
        wrong = f"{numbers.number - len(order)} of {numbers.number} events do not happen"
    return Ran(running.compared, 0.0, wrong)


def _numbers(running: Running) -> Numbers:
    return Numbers(len(running.events), running.events.first_transfer)


def confirm(model: Modelled, claim: Claim, device: Callable[[int], Device]) -> Confirmed:
    """Look for a counterexample on streams: left free with seeded delays, then in forced orders.

    It is confirmed once a read at one of its places, or of the storage that its places write,
    finds no numbers or others than those of the unsplit model, or once a crossed message is left
    in memory that nobody reads.

    Args:
        model: the schedule.
        claim: the counterexample.
        device: makes a device, by a seed.
    """
    if claim.rule not in OBSERVED:
        return Confirmed(Answer.NOT_OBSERVABLE, "streams show what is read from memory, not this")
    try:
        for how, running in _orders(model, claim, device):
            found = next(_shown(running, claim), None)
            if found is not None:
                return Confirmed(Answer.CONFIRMED, f"{found}, {how}")
    except (UnsupportedFeatureError, InexactError) as error:
        return Confirmed(Answer.NOT_OBSERVABLE, str(error))
    except ReplayMismatchError as error:
        return Confirmed(Answer.NOT_REPRODUCED, str(error))
    if not claim.reached:
        why = "a deadlock keeps its place from being reached"
        return Confirmed(Answer.NOT_OBSERVABLE, why)
    return Confirmed(Answer.NOT_REPRODUCED, "no read at its places finds other numbers")


def _orders(
    model: Modelled, claim: Claim, device: Callable[[int], Device]
) -> Iterator[tuple[str, Running]]:
    """Yield runs of a counterexample, and how each of them was run."""
    paces = (Pace.SENDS, Pace.RECEIVES, Pace.ANY)
    data = [Unsplit(model.run, seed) for seed in SEEDS]
    for forced in (False, True):
        for seed in range(_SEEDS):
            running = Running(model.run, model.match, device(seed), data[seed % len(data)])
            begun = _events(running, claim.trace)
            style = list(Style)[seed % len(Style)]
            rest = extended(model.guards, _numbers(running), begun, style=style, seed=seed)
            launches = running.plan(model.guards, (*begun, *rest), forced=forced)
            running.play(launches, Pace.FREE if forced else paces[seed % len(paces)], seed)
            yield ("in a forced order" if forced else f"on free streams, seed {seed}"), running


def _events(running: Running, trace: Sequence[int] | Sequence[TraceStep]) -> tuple[int, ...]:
    numbers = tuple(each for each in trace if isinstance(each, int))
    if len(numbers) == len(trace):
        return numbers
    return running.events.of_steps(each for each in trace if isinstance(each, TraceStep))


def _shown(running: Running, claim: Claim) -> Iterator[str]:
    """Yield in words what shows a counterexample."""
    rows = _rows(running, claim)
    yield from (each.text for each in _matching(running, claim, rows))
    if claim.rule == "PP202":
        kinds = running.kernels.ops.kind
        received = (row for row in rows if int(kinds[row]) == Kind.RECV)
        yield from (text for row in received for text in running.left_with(row))


def _rows(running: Running, claim: Claim) -> list[int]:
    """Return the rows at the places of a counterexample."""
    ops, events = running.kernels.ops, running.events
    return [
        row for row in range(len(ops)) if (int(ops.rank[row]), events.position(row)) in claim.places
    ]


def _matching(running: Running, claim: Claim, rows: Sequence[int]) -> Iterator[Differs]:
    """Yield the differing reads that are what a counterexample says."""
    ops, touches = running.kernels.ops, running.kernels.touches
    storages = {each.key for row in rows for each in touches.writes[row]}
    storages |= {touches.frees[row] for row in rows if row in touches.frees}
    sends = [row for row in rows if int(ops.kind[row]) == Kind.SEND]
    storages |= {each.key for row in sends for each in touches.reads[row]}
    stages = {int(ops.stage[row]) for row in rows if Kind(int(ops.kind[row])) in _GRADIENTS}
    for each in running.differing():
        seen = each.seen
        if seen.value == GRADIENT:
            if claim.rule in ("PP501", "PP502") and seen.key[0] in stages:
                yield each
        elif seen.row in rows or seen.key in storages:
            yield each
