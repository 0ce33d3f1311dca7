"""Run an execution event by event, without any engine."""

import numpy as np
import numpy.typing as npt

from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import distinct
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.weak import movable

__all__ = ["NEVER", "enabled", "happen", "rests"]

NEVER = np.iinfo(np.int64).max
"""The moment of what does not happen."""


def happen(model: Model, graph: Graph, trace: IntArray) -> IntArray:
    """Return the moment of every event of `graph` when `trace` is run, `NEVER` if it is not.

    Raises:
        ReplayMismatchError: an event of the trace cannot happen in its place.
    """
    if len(distinct(trace)) != len(trace) or np.any((trace < 0) | (trace >= model.events)):
        message = "an execution names an event twice, or one that does not exist"
        raise ReplayMismatchError(message)
    moment = np.full(graph.size, NEVER, np.int64)
    moment[trace] = np.arange(len(trace))
    _gates(model, graph, moment)
    early = (moment[graph.after] != NEVER) & (moment[graph.before] >= moment[graph.after])
    early &= graph.after < model.events
    if np.any(early) or np.any(graph.never[trace]):
        message = "an event of the execution happens before what it waits for"
        raise ReplayMismatchError(message)
    for credit in graph.credits:
        _credited(credit.drained, credit.arrived, credit.capacity, moment)
    if len(model.weak):
        _weak(model, graph, trace, moment)
    return moment


def _gates(model: Model, graph: Graph, moment: IntArray) -> None:
    """Open each gate at the moment of the last event that it waits for."""
    into = np.flatnonzero(graph.after >= model.events)
    last = np.full(graph.size, -1, np.int64)
    np.maximum.at(last, graph.after[into], moment[graph.before[into]])
    gates = np.arange(model.events, graph.size)
    moment[gates] = np.where(graph.never[gates], NEVER, last[gates])


def _credited(drained: IntArray, arrived: IntArray, capacity: int, moment: IntArray) -> None:
    for number in np.flatnonzero(moment[drained] != NEVER).tolist():
        waiting = np.sum(moment[arrived[:number]] > moment[drained[number]])
        if waiting >= capacity:
            message = "a send of the execution has no credit"
            raise ReplayMismatchError(message)


def _weak(model: Model, graph: Graph, trace: IntArray, moment: IntArray) -> None:
    """Check that weak messages move only where both ranks stand in a call, and nothing else can."""
    frame = model.frame
    at = 0
    while at < len(trace):
        if not graph.held[trace[at]]:
            at += 1
            continue
        happened = moment < at
        others = enabled(model, graph, happened) & ~graph.held
        transfers = movable(model, happened)
        allowed = np.concatenate((frame.drained(transfers), frame.arrived(transfers)))
        if np.any(others) or trace[at] not in allowed:
            message = "a weak message of the execution moves while a rank is not in a call on it"
            raise ReplayMismatchError(message)
        while at < len(trace) and (trace[at] in allowed or _moves(model, int(trace[at]))):
            at += 1


def _moves(model: Model, event: int) -> bool:
    return model.frame.first_transfer <= event < model.events and event not in _held(model)


def _held(model: Model) -> set[int]:
    frame = model.frame
    return set(frame.drained(model.weak).tolist()) | set(frame.arrived(model.weak).tolist())


def enabled(model: Model, graph: Graph, happened: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which events have not happened and wait for nothing more, shape `(size,)`."""
    waits = np.bincount(graph.after[~happened[graph.before]], minlength=graph.size) > 0
    able = ~happened & ~waits & ~graph.never
    able[model.events :] = False
    for credit in graph.credits:
        open_: IntArray = np.cumsum(~happened[credit.arrived]) - ~happened[credit.arrived]
        able[credit.drained[open_ >= credit.capacity]] = False
    return np.asarray(able)


def rests(model: Model, graph: Graph, moment: IntArray) -> None:
    """Check that nothing more can happen.

    Raises:
        ReplayMismatchError: something can.
    """
    happened = moment != NEVER
    able = enabled(model, graph, happened)
    if len(model.weak):
        frame, transfers = model.frame, movable(model, happened)
        moving = np.zeros(graph.size, np.bool_)
        moving[frame.drained(transfers)] = moving[frame.arrived(transfers)] = True
        able &= ~graph.held | moving
    if np.any(able):
        message = "the execution that is said to be stuck can go on"
        raise ReplayMismatchError(message)
