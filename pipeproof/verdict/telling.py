"""From what an engine decided to what is said: places, traces, sentences."""

from collections.abc import Iterable, Iterator

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
    frame, telling = model.frame, _Telling(model, (each.trace for each in decision.broken))
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
    shown = np.asarray(events, np.int64)
    return iter(_Telling(model, (shown,)).steps(shown))


class _Telling:
    """Tells the events of some executions, each event once."""

    def __init__(self, model: Model, traces: Iterable[IntArray]) -> None:
        frame = self._frame = model.frame
        self._told: dict[int, TraceStep] = {}
        events = distinct(np.concatenate((np.zeros(0, np.int64), *traces)))
        self._tell_instructions(events[events < frame.ends])
        for event in events[(events >= frame.ends) & (events < frame.first_transfer)].tolist():
            self._told[event] = TraceStep(_END, "done", *frame.place(Spot(event, -1)))
        self._tell_transfers(events[events >= frame.first_transfer])

    def steps(self, events: IntArray) -> tuple[TraceStep, ...]:
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
        texts: dict[int, str] = {}
        for event, here, value, rank, position in zip(
            events.tolist(),
            arrived.tolist(),
            frame.ops.value[made].tolist(),
            frame.ops.rank[row].tolist(),
            self._positions(row),
            strict=True,
        ):
            if value not in texts:
                texts[value] = frame.ops.value_text(value)
            phase = "arrived" if here else "drained"
            self._told[event] = TraceStep(texts[value], phase, rank, position)

    def _positions(self, rows: IntArray) -> list[int]:
        """Return positions that run on over the copies of a program."""
        frame = self._frame
        found: list[int] = (
            frame.positions(rows) + frame.run.copy[rows] * frame.lengths[frame.ops.rank[rows]]
        ).tolist()
        return found
