"""From what an engine decided to what is said: places, traces, sentences."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.operations import NONE, IntArray
from pipeproof.ir.sets import distinct
from pipeproof.semantics.found import Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.verdict import Place, TraceStep, Violation

__all__ = ["place", "trace", "violations"]

_END = "end of program"


def violations(model: Model, decision: Decision) -> tuple[Violation, ...]:
    """Return what is broken, first first; a copy's fault that the first copy has is told once."""
    frame, telling = model.frame, _Telling(model)
    told: set[tuple[object, ...]] = set()
    found: list[Violation] = []
    for broken in decision.broken:
        spots = broken.finding.spots
        at = tuple(sorted((place(frame, spot) for spot in spots), key=_in_order))
        key = (broken.rule.code, tuple((p.rank, p.position, p.row) for p in at))
        if at and frame.run.copies > 1 and key in told:
            continue
        told.add(key)
        found.append(_violation(telling, broken, at, first=not found))
    return tuple(found)


def _in_order(place: Place) -> tuple[int, int, int]:
    return place.rank, place.position, place.row


def _violation(
    telling: "_Telling", broken: Broken, at: tuple[Place, ...], *, first: bool
) -> Violation:
    rule = broken.rule
    return Violation(
        rule=rule.code,
        name=rule.name,
        message=rule.message.format(**broken.finding.facts),
        at=at,
        cost=broken.cost,
        trace=telling.steps(broken.trace),
        reached=broken.reached,
        first=first,
    )


def place(frame: Frame, spot: Spot) -> Place:
    """Return a place in words."""
    rank, position = frame.place(spot)
    if spot.row < 0:
        return Place(rank, position, _END, -1)
    row = int(frame.run.base[spot.row])
    ops = frame.run.spelled
    stage, microbatch = int(ops.stage[row]), int(ops.microbatch[row])
    return Place(
        rank=rank,
        position=position,
        operation=ops.text(row),
        row=int(frame.run.written[spot.row]),
        stage=None if stage == NONE else stage,
        microbatch=None if microbatch == NONE else microbatch,
        version=frame.versions.told(spot.row),
        step=int(frame.run.copy[spot.row]) or None,
        lowered=bool(frame.run.added[spot.row]),
        ordinal=_ordinal(frame, int(frame.run.written[spot.row])),
    )


def _ordinal(frame: Frame, row: int) -> int:
    return int(frame.run.schedule.operations.ordinal[row]) if row >= 0 else 0


def trace(model: Model, events: list[int]) -> Iterator[TraceStep]:
    """Yield the events of an execution in words."""
    return iter(_Telling(model).steps(np.asarray(events, np.int64)))


class _Telling:
    """Tells the events of a model; what was told once is told again, not made again."""

    def __init__(self, model: Model) -> None:
        self._frame = model.frame
        self._told: dict[int, TraceStep] = {}
        self._values: dict[int, str] = {}

    def steps(self, events: IntArray) -> tuple[TraceStep, ...]:
        fresh = [event for event in distinct(events).tolist() if event not in self._told]
        new = np.asarray(fresh, np.int64)
        frame = self._frame
        self._tell_instructions(new[new < frame.ends])
        for event in new[(new >= frame.ends) & (new < frame.first_transfer)].tolist():
            self._told[event] = TraceStep(_END, "done", *frame.place(Spot(event, -1)))
        self._tell_transfers(new[new >= frame.first_transfer])
        return tuple(map(self._told.__getitem__, events.tolist()))

    def _tell_instructions(self, events: IntArray) -> None:
        frame, number = self._frame, events // 2
        for event, instruction, rank, position in zip(
            events.tolist(),
            number.tolist(),
            frame.instruction_rank[number].tolist(),
            self._positions(frame.ops.first_row[number]),
            strict=True,
        ):
            phase = "done" if event % 2 else "start"
            self._told[event] = TraceStep(
                frame.instruction_text(instruction), phase, rank, position
            )

    def _tell_transfers(self, events: IntArray) -> None:
        frame, pairing = self._frame, self._frame.pairing
        transfer, arrived = np.divmod(events - frame.first_transfer, 2)
        send, receive = pairing.send[transfer], pairing.receive[transfer]
        row = np.where((arrived == 1) | (send < 0), receive, send)
        made = np.where(send >= 0, send, receive)
        for event, here, value, rank, position in zip(
            events.tolist(),
            arrived.tolist(),
            frame.ops.value[made].tolist(),
            frame.ops.rank[row].tolist(),
            self._positions(row),
            strict=True,
        ):
            if value not in self._values:
                self._values[value] = frame.ops.value_text(value)
            phase = "arrived" if here else "drained"
            self._told[event] = TraceStep(self._values[value], phase, rank, position)

    def _positions(self, rows: IntArray) -> list[int]:
        """Return positions that run on over the copies of a program."""
        frame = self._frame
        found: list[int] = (
            frame.positions(rows) + frame.run.copy[rows] * frame.lengths[frame.ops.rank[rows]]
        ).tolist()
        return found
