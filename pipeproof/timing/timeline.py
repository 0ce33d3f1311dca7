"""The execution in which everything happens as early as it can: who works on what, and when."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.costs import Costs, costs_of
from pipeproof.semantics.earliest import NEVER, carried, first_makespan, moments
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model

__all__ = ["Span", "Timeline", "Transfer", "timeline"]


class Span(NamedTuple):
    """An operation of a rank, from `start` to `end`, in ticks; `row` stands in the table as run."""

    row: int
    rank: int
    kind: Kind
    stage: int
    microbatch: int
    start: int
    end: int


class Transfer(NamedTuple):
    """A message between two ranks, from when it moves to when it has moved, in ticks.

    `send` and `receive` are the rows of its two ends.
    """

    send: int
    receive: int
    start: int
    end: int


class Timeline(NamedTuple):
    """All of one execution, of the first copy of the programs.

    `spans` stand in order of ranks and time; none of a rank overlap. `unit` ticks make a unit of
    time, `makespan` is the end of the last instruction.
    """

    unit: int
    makespan: int
    ranks: int
    spans: tuple[Span, ...]
    transfers: tuple[Transfer, ...]
    costs: Costs

    def busy(self, rank: int) -> int:
        """Return for how many ticks a rank computes."""
        return sum(each.end - each.start for each in self.spans if each.rank == rank)


def timeline(model: Model) -> Timeline:
    """Return the earliest execution of a legal schedule.

    Exact: guards are monotone, so no order of events makes any of them earlier.

    Raises:
        UnsupportedFeatureError: the transport has weak communicators.
        ValueError: the schedule is stuck, so that it has no end.
    """
    frame = model.frame
    found = moments(frame, model.progress)
    makespan = first_makespan(frame, found)
    if makespan is None:
        message = "the schedule is stuck: it has no end"
        raise ValueError(message)
    at, costs = [int(each) for each in found.at], costs_of(frame.run.schedule)
    spans = sorted(_spans(frame, at, costs), key=lambda each: (each.rank, each.start, each.row))
    transfers = tuple(_transfers(frame, at, costs))
    return Timeline(found.unit, makespan, frame.ranks, tuple(spans), transfers, costs)


def _spans(frame: Frame, at: list[int], costs: Costs) -> Iterator[Span]:
    """Yield each computation; those of an overlap one after the other."""
    ops = frame.ops
    before, started = -1, 0
    for row in np.flatnonzero(ops.is_kind(*COMPUTE)).tolist():
        if frame.run.copy[row]:
            continue
        instruction, kind = int(ops.instruction[row]), Kind(int(ops.kind[row]))
        if instruction != before:
            before, started = instruction, at[2 * instruction]
        stage = int(ops.stage[row])
        ended = started + costs.of(kind.name, stage)
        yield Span(row, int(ops.rank[row]), kind, stage, int(ops.microbatch[row]), started, ended)
        started = ended


def _transfers(frame: Frame, at: list[int], costs: Costs) -> Iterator[Transfer]:
    """Yield each message between ranks, which is on its way for as long as it takes."""
    pairing = frame.pairing
    for number, ticks in carried(frame, costs.ticks["comm"]):
        send, receive = int(pairing.send[number]), int(pairing.receive[number])
        moved = at[frame.first_transfer + 2 * number + (not frame.together)]
        if min(send, receive) >= 0 and moved != NEVER and not frame.run.copy[send]:
            yield Transfer(send, receive, moved - ticks, moved)
