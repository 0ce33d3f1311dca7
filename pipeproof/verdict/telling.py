"""From what an engine decided to what is said: places, traces, sentences."""

from collections.abc import Iterator

from pipeproof.ir.operations import NONE
from pipeproof.semantics.found import Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.verdict import Place, TraceStep, Violation

__all__ = ["place", "trace", "violations"]

_END = "end of program"


def violations(model: Model, decision: Decision) -> tuple[Violation, ...]:
    """Return what is broken, first first; a copy's fault that the first copy has is told once."""
    frame = model.frame
    told: set[tuple[object, ...]] = set()
    found: list[Violation] = []
    for broken in decision.broken:
        spots = broken.finding.spots
        at = tuple(sorted((place(frame, spot) for spot in spots), key=_in_order))
        key = (broken.rule.code, tuple((p.rank, p.position, p.row) for p in at))
        if at and frame.run.copies > 1 and key in told:
            continue
        told.add(key)
        found.append(_violation(model, broken, at, first=not found))
    return tuple(found)


def _in_order(place: Place) -> tuple[int, int, int]:
    return place.rank, place.position, place.row


def _violation(model: Model, broken: Broken, at: tuple[Place, ...], *, first: bool) -> Violation:
    rule = broken.rule
    return Violation(
        rule=rule.code,
        name=rule.name,
        message=rule.message.format(**broken.finding.facts),
        at=at,
        cost=broken.cost,
        trace=tuple(trace(model, broken.trace.tolist())),
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
    frame = model.frame
    for event in events:
        kind, number = frame.owner(event)
        if kind == "instruction":
            rank = int(frame.instruction_rank[number])
            position = _running_position(frame, int(frame.ops.first_row[number]))
            phase = "done" if event % 2 else "start"
            yield TraceStep(frame.instruction_text(number), phase, rank, position)
        elif kind == "end":
            yield TraceStep(_END, "done", *frame.place(Spot(event, -1)))
        else:
            yield _moved(frame, event, number)


def _running_position(frame: Frame, row: int) -> int:
    """Return a position that runs on over the copies of a program."""
    rank, copy = int(frame.ops.rank[row]), int(frame.run.copy[row])
    return frame.position(row) + copy * frame.length(rank)


def _moved(frame: Frame, event: int, transfer: int) -> TraceStep:
    arrived = (event - frame.first_transfer) % 2 == 1
    send, receive = int(frame.pairing.send[transfer]), int(frame.pairing.receive[transfer])
    row = receive if arrived or send < 0 else send
    made = send if send >= 0 else receive
    return TraceStep(
        frame.ops.value_text(int(frame.ops.value[made])),
        "arrived" if arrived else "drained",
        int(frame.ops.rank[row]),
        _running_position(frame, row),
    )
