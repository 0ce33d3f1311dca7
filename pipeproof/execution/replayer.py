"""Runs exactly the events of an execution, one at a time, on real tensors, in one process.

Each storage is real memory, filled with NaN when it changes hands. A send reads its storage at
the moment its message moves, a receive writes at the moment it moves. Beside the numbers stand
stamps: which value, put by whom. Every event checks the identity of what it reads.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from pipeproof.errors import ReplayMismatchError
from pipeproof.execution._asked import Asked
from pipeproof.execution._compute import Compute, Made
from pipeproof.execution._events import Events
from pipeproof.execution._gradients import Gradients
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._left import Left
from pipeproof.execution._memory import Memory, Message, flat, same
from pipeproof.execution._registers import Registers
from pipeproof.execution._restart import RESTARTING, Restart
from pipeproof.execution._shares import names
from pipeproof.execution._touches import Touches
from pipeproof.execution._weights import Weights
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import Witness, witness
from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Bracket
from pipeproof.ir.storage import content_text
from pipeproof.ir.transport import Match

__all__ = ["Fault", "Illegal", "Met", "Place", "Replayer", "set_up"]

_CHANGING = (Kind.ZERO, Kind.SCALE, Kind.STALE)
_RUNNING = (Kind.REDUCE, Kind.NORM, Kind.TIE)


@dataclass(frozen=True, slots=True)
class Met:
    """Something that an event met: what is illegal, or just numbers that differ.

    `updated` is the stage whose gradient differs where it is used, -1 elsewhere.
    """

    turn: int
    event: int
    text: str
    illegal: Illegal | None = None
    updated: int = -1


class Replayer:
    """One execution of a schedule, event by event.

    `met` holds, in order, every illegal transition and every event whose numbers are not those of
    the unsplit model. `compared` counts the numbers that were compared.
    """

    def __init__(self, run: AsRun, match: Match, model: Witness, *, late: bool = False) -> None:
        """Set up an execution that has not begun; `late` reductions read at their end.

        Raises:
            UnsupportedFeatureError: the witness cannot show what the schedule asks.
        """
        self.run, self.ops = run, run.operations
        self.events = Events(run, match)
        self.asked = Asked(run, len(model.shapes))
        self.reference = Reference(model, self.asked)
        self.memory, self.witness = Memory(model.dtype), model
        self.touches = Touches(run)
        self.weights = Weights(self.asked, self.reference)
        self.gradients = Gradients(self.asked, self.reference, late=late)
        self.compute = Compute(self.touches, self.asked, self.reference, self.memory, self.weights)
        self.met: list[Met] = []
        self.compared = 0
        self.happened: list[int] = []
        self.ratio: float | None = 0.0
        self._made: dict[int, Made] = {}
        self._updates: dict[int, dict[int, torch.Tensor]] = {}
        self._rounded: dict[int, set[int]] = {}
        self._messages: dict[int, Message] = {}
        self._restart = Restart(self.events, self.weights, model)

    @property
    def registers(self) -> Registers:
        """What stages have handed on from microbatch to microbatch."""
        return self.compute.registers

    @property
    def first(self) -> Met | None:
        """The first illegal transition."""
        return next((each for each in self.met if each.illegal is not None), None)

    @property
    def differing(self) -> Met | None:
        """The first event whose numbers differ."""
        return next(
            (e for e in self.met if e.illegal is None or e.illegal.visible),
            None,
        )

    def play(self, events: Iterable[int], *, stop: bool = False) -> None:
        """Run events in their order, with `stop` up to the first illegal transition.

        Raises:
            ReplayMismatchError: there is no such event, or it has happened.
        """
        done = set(self.happened)
        for event in events:
            if not 0 <= event < len(self.events) or event in done:
                message = f"event {event} has happened already, or does not exist"
                raise ReplayMismatchError(message)
            done.add(event)
            self.happened.append(event)
            self._happens(event)
            if stop and self.first is not None:
                return

    def _happens(self, event: int) -> None:
        events = self.events
        if event < events.ends:
            rows = events.rows[event // 2]
            (self._done if event % 2 else self._start)(event, rows)
        elif event < events.first_transfer:
            self._program_ends(event, event - events.ends)
        else:
            self._moves(event, (event - events.first_transfer) // 2)

    # instructions

    def _start(self, event: int, rows: range) -> None:
        for row in rows:
            self._begin(event, row)

    def _begin(self, event: int, row: int) -> None:
        kind = Kind(int(self.ops.kind[row]))
        overlapping = self.ops.bracket[row] == Bracket.OVERLAP
        if kind in COMPUTE:
            self._computes(event, row)
            if overlapping:
                self._puts(row)
        elif kind in (Kind.SEND, Kind.RECV):
            self._posts(event, row)
        elif kind in (Kind.LOAD, Kind.WRITE, Kind.USE, Kind.FREE):
            self._stores(event, row, kind)
        elif kind in (Kind.UNSHARD, Kind.RESHARD):
            self.weights.shard(row)
        elif kind is Kind.GATHER:
            self.asked.advance(self.weights.numbers[int(self.ops.stage[row])], row)
        elif kind in RESTARTING:
            self._meet(event, row, self._restart.happens(row, self._messages))
        elif self._is_home(row):
            self._trains(event, row, kind)

    def _computes(self, event: int, row: int) -> None:
        if row not in self.touches.computing:
            return
        made = self._made[row] = self.compute.start(row)
        self.compared += 1
        self._meet(event, row, made.illegal)
        if made.differs:
            self._meet_difference(event, row)
        if made.adds and self._is_home(row):
            self._meet(event, row, self.gradients.busy(row))
            self._meet(event, row, self.gradients.marked(row))
        for key, _, _ in made.puts:
            self._claim(event, row, key)

    def _claim(self, event: int, row: int, key: tuple[int, int]) -> None:
        cell = self.memory.cell(key)
        if cell.is_busy and key[0] < 0:
            ends = [self.events.transfers[t] for t in (*cell.readers, *cell.writers)]
            others = [end for each in ends for end in (each.send, each.receive) if end >= 0]
            places = (Place(row), *map(Place, others))
            found = "a message that moves"
            self._meet(event, row, [Illegal(Fault.IN_FLIGHT, places, "at rest", found)])
        self.memory.claim(key, row)

    def _is_home(self, row: int) -> bool:
        stage = int(self.ops.stage[row])
        known = 0 <= stage < self.run.schedule.stages
        return known and self.run.placement[stage] == int(self.ops.rank[row])

    def _done(self, event: int, rows: range) -> None:
        for row in rows:
            kind = Kind(int(self.ops.kind[row]))
            if kind in COMPUTE and self.ops.bracket[row] != Bracket.OVERLAP:
                self._puts(row)
            elif kind in (Kind.LOAD, Kind.WRITE):
                for each in self.touches.writes[row]:
                    value = self.reference.value(each.value)
                    self.memory.put(each.key, value, each.value, row)
            elif kind is Kind.WAIT or (kind in _RUNNING and int(self.ops.handle[row]) < 0):
                self.gradients.finish(int(self.ops.rank[row]), int(self.ops.handle[row]))
            elif kind is Kind.STEP and row in self._updates:
                self.weights.step(row, self._updates.pop(row), self._rounded.pop(row, ()))
                self.compared += 1
                if self.first is None and self.weights.differ(row):
                    self._meet_difference(event, row)

    def _puts(self, row: int) -> None:
        made = self._made.pop(row, None)
        if made is None:
            return
        for key, data, value in made.puts:
            self.memory.put(key, data, value, row, withdrawn=made.withdrawn)
        self._take(row)
        if made.adds and self._is_home(row):
            self.gradients.contribute(row, made.adds)

    def _take(self, row: int) -> None:
        for key in self.touches.takes.get(row, ()):
            if key in self.memory.cells and not self.memory.cell(key).is_busy:
                self.memory.free(key, row)

    def _stores(self, event: int, row: int, kind: Kind) -> None:
        if kind is Kind.FREE:
            key = self.touches.frees[row]
            if self.memory.cell(key).is_busy:
                found = "a message that moves"
                place = (Place(row),)
                self._meet(event, row, [Illegal(Fault.IN_FLIGHT, place, "at rest", found)])
            self.memory.free(key, row)
        elif kind is Kind.USE:
            self._uses(event, row)
        else:
            for each in self.touches.writes[row]:
                self._claim(event, row, each.key)

    def _uses(self, event: int, row: int) -> None:
        for each in self.touches.reads[row]:
            wanted = self.reference.value(each.value)
            data, illegal = self.compute.look(row, each, wanted.numel())
            self.compared += 1
            if illegal is not None:
                visible = not same(data, wanted)
                self._meet(event, row, [illegal._replace(visible=visible)])
            elif not same(data, wanted) and not self.memory.cell(each.key).withdrawn:
                self._meet_difference(event, row)

    def _trains(self, event: int, row: int, kind: Kind) -> None:
        stage = int(self.ops.stage[row])
        if kind in (*_CHANGING, *_RUNNING, Kind.STEP, Kind.SKIP):
            self._meet(event, row, self.gradients.busy(row))
        if kind in _CHANGING:
            self.gradients.change(row)
        elif kind in _RUNNING:
            self.gradients.begin(row)
        elif kind is Kind.STEP:
            lost = self.asked.speculation[stage].lost
            about = [k for k in self.gradients.concerned(row) if (row, k) not in lost]
            self._judge(event, row, stage, about)
            updates = self.gradients.end(row)
            self._updates[row] = {
                k: self.witness.updated(self.weights.current(stage, k), update + ((row, k) in lost))
                for k, update in updates.items()
            }  # what is withdrawn later was made with another gradient than what comes after
        elif kind is Kind.SKIP:
            self.gradients.end(row)
        elif kind is Kind.ROLLBACK:
            self.weights.settle(row)

    def _judge(self, event: int, row: int, stage: int, weights: list[int]) -> None:
        """Compare the gradient that an update takes with what is asked of it."""
        wrong = sorted(
            self.gradients.faults(stage, row, weights), key=lambda each: not each.visible
        )
        self._meet(event, row, wrong[:1])
        for k in weights:
            ratio = self.gradients.differs(stage, k)
            self.compared += 1
            if ratio is None or ratio > 1:
                self._meet_difference(event, row, stage)
                self.ratio = None
            elif self.ratio is not None:
                self.ratio = max(self.ratio, ratio)
                self._rounded.setdefault(row, set()).update({k} if ratio else ())

    # messages

    def _posts(self, event: int, row: int) -> None:
        if int(self.ops.kind[row]) == Kind.SEND:
            transfer = self.events.sent.get(row)
            for each in self.touches.reads[row]:
                _, illegal = self.compute.look(row, each, 0)
                if illegal is not None:
                    self._meet(event, row, [illegal])
                if transfer is not None:
                    self.memory.cell(each.key).readers.add(transfer)
            return
        transfer = self.events.received.get(row)
        for each in self.touches.writes[row]:
            self._claim(event, row, each.key)
            if transfer is not None:
                self.memory.cell(each.key).writers.add(transfer)

    def _moves(self, event: int, number: int) -> None:
        transfer = self.events.transfers[number]
        if (event - self.events.first_transfer) % 2 == 0:
            if transfer.send >= 0:
                self._drains(event, number, transfer.send)
        elif transfer.receive >= 0:
            self._arrives(event, number, transfer.send, transfer.receive)

    def _drains(self, event: int, number: int, row: int) -> None:
        for each in self.touches.reads[row]:
            cell, wanted = self.memory.cell(each.key), self.reference.value(each.value)
            data, illegal = self.compute.look(row, each, wanted.numel())
            stamp = each.value if illegal is None else cell.value
            self._messages[number] = Message(data, stamp, cell.withdrawn)
            cell.readers.discard(number)
            self.compared += 1
            if illegal is not None:
                visible = not same(data, wanted)
                self._meet(event, row, [illegal._replace(visible=visible)])
            elif not same(data, wanted) and not cell.withdrawn:
                self._meet_difference(event, row)
        self._take(row)

    def _arrives(self, event: int, number: int, send: int, row: int) -> None:
        message = self._messages.pop(number, None)
        if message is None:
            return
        sent = int(self.ops.value[send])
        for each in self.touches.writes[row]:
            cell = self.memory.cell(each.key)
            cell.writers.discard(number)
            if cell.by != row:
                cell.overwritten.append(row)
            lost = message.withdrawn
            self.memory.put(each.key, message.data, message.value, row, withdrawn=lost)
            if sent == each.value:
                continue
            visible = not same(message.data, flat(self.reference.value(each.value)))
            places = (Place(send), Place(row))
            expected = content_text(self.ops, each.value)
            found = content_text(self.ops, sent)
            self._meet(event, row, [Illegal(Fault.CROSSED, places, expected, found, visible)])

    # ends

    def _program_ends(self, event: int, rank: int) -> None:
        self.gradients.finish(rank, None)
        if self.run.schedule.forward_only or self.run.copies > 1:
            return
        for stage, home in enumerate(self.run.placement):
            if home != rank or not self.asked.home[stage]:
                continue
            open_ = [k for k in self.asked.weights if not self.asked.ends[stage, k]]
            if open_ and any(self.asked.due(stage, k, None) for k in open_):
                self._judge(event, -1, stage, open_)
            left = [k for k in self.asked.weights if k not in open_]
            if self.asked.each and left and not self.run.schedule.fragment:
                self._meet(event, -1, self.gradients.left_over(stage, left))

    def finish(self) -> None:
        """Look at what is left once nothing more can happen: messages that nobody receives.

        The next receive of the channel takes such a message for what it asks for in the next step.
        """
        left = Left(self.events, self.reference, self.memory)
        for event, found in left.stranded(self._messages):
            self._meet(event, found.places[0].row, [found])

    # what is met

    def _meet(self, event: int, row: int, wrong: Iterable[Illegal]) -> None:
        for illegal in wrong:
            self.met.append(Met(len(self.happened) - 1, event, self._text(row, illegal), illegal))

    def _meet_difference(self, event: int, row: int, stage: int = -1) -> None:
        text = self.events.text(row) if row >= 0 else f"end of stage {stage}"
        self.met.append(Met(len(self.happened) - 1, event, text, updated=stage))

    def _text(self, row: int, illegal: Illegal) -> str:
        if row >= 0:
            return self.events.text(row)
        return f"end of the program of stage {illegal.places[0].stage}"


def set_up(
    run: AsRun, match: Match, name: str = "linear", seed: int = 0, *, late: bool = False
) -> Replayer:
    """Return an execution of a schedule on a witness, that has not begun.

    Raises:
        UnsupportedFeatureError: the witness cannot show what the schedule asks.
    """
    torch.set_num_threads(1)
    schedule = run.schedule
    model = witness(name, schedule.stages, schedule.microbatches, seed).wide(names(run))
    asked = Asked(run, len(model.shapes))
    model = model.like(asked.alike, asked.scale)
    return Replayer(run, match, model, late=late)
