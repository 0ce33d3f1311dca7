"""Accept or reject an execution, and what it is said to show, without any engine."""

import numpy as np
import numpy.typing as npt

from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.logic import Acyclic, All, AtMost, Axiom, Empty, Enforced, Never, Rel
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.relations.storage import held_back
from pipeproof.semantics.weak import movable
from pipeproof.verdict.decision import Broken

__all__ = ["check", "happen"]

_NEVER = np.iinfo(np.int64).max


def happen(model: Model, graph: Graph, trace: IntArray) -> IntArray:
    """Return the moment of every event of `graph` when `trace` is run, `_NEVER` if it is not.

    Raises:
        ReplayMismatchError: an event of the trace cannot happen in its place.
    """
    if len(distinct(trace)) != len(trace) or np.any((trace < 0) | (trace >= model.events)):
        message = "an execution names an event twice, or one that does not exist"
        raise ReplayMismatchError(message)
    moment = np.full(graph.size, _NEVER, np.int64)
    moment[trace] = np.arange(len(trace))
    _gates(model, graph, moment)
    early = (moment[graph.after] != _NEVER) & (moment[graph.before] >= moment[graph.after])
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
    moment[gates] = np.where(graph.never[gates], _NEVER, last[gates])


def _credited(drained: IntArray, arrived: IntArray, capacity: int, moment: IntArray) -> None:
    for number in np.flatnonzero(moment[drained] != _NEVER).tolist():
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


def check(model: Model, broken: Broken) -> None:
    """Check that a broken rule is broken: by its execution, and by what the relation holds of.

    Raises:
        ReplayMismatchError: the execution cannot happen, or does not show what is said.
    """
    axiom = broken.rule.axiom
    ordered = isinstance(axiom, Acyclic)
    graph = model.progress if ordered else model.happens_before
    moment = happen(model, graph, broken.trace)
    starts = [spot.event for spot in broken.finding.spots]
    last = [*starts, *([broken.finding.event] if broken.finding.event >= 0 else [])]
    held = held_back(model.frame, moment != _NEVER) if ordered else {}
    shown = all(moment[event] != _NEVER or event in held for event in last)
    shown = shown and len(broken.trace) > 0
    _demand(_breaks(model, axiom, broken, moment), broken)
    _demand(broken.reached == shown or not len(broken.trace), broken)


def _breaks(model: Model, axiom: Axiom, broken: Broken, moment: IntArray) -> bool:
    """Whether an execution shows that `axiom` does not hold of what is said to break it."""
    finding = broken.finding
    match axiom:
        case Acyclic():
            return _deadlocked(model, broken, moment)
        case Never():  # its event is one of those that an execution must reach to be shown
            return True
        case Empty(rel):
            return finding in model.findings(rel).found
        case Enforced(rel, _):
            return _unordered(model, rel, finding, moment)
        case AtMost(measure):
            return _exceeds(model, measure, finding, moment)
        case All(axioms):
            return any(_breaks(model, each, broken, moment) for each in axioms)


def _deadlocked(model: Model, broken: Broken, moment: IntArray) -> bool:
    """Whether an execution ends stuck with every place waiting."""
    unentered = broken.finding in model.findings(Rel("unentered")).found
    if not len(broken.trace) or unentered:
        return True
    _stuck(model, model.progress, moment)
    return all(_waits(model, spot, moment) for spot in broken.finding.spots)


def _unordered(model: Model, rel: Rel, finding: Finding, moment: IntArray) -> bool:
    """Whether what must come first has not happened where the execution reaches a place."""
    needs = model.needs(rel)
    before = needs.before[among(needs.rows, [spot.row for spot in finding.spots])]
    late = (before < 0) | (moment[np.maximum(before, 0)] == _NEVER)
    late |= before > max(spot.event for spot in finding.spots)
    return bool(np.any(late))


def _exceeds(model: Model, measure: Rel, finding: Finding, moment: IntArray) -> bool:
    """Whether more is live than allowed where the execution reaches the place of a finding."""
    holds = model.holds(measure)
    (spot,) = finding.spots
    rank = int(model.frame.chain[spot.event])
    live = (holds.rank == rank) & (holds.start <= spot.event)
    ended = np.full(len(holds.start), -1, np.int64)
    np.maximum.at(ended, holds.of, moment[holds.ends])
    live &= (ended < 0) | (ended == _NEVER)
    return holds.bound is not None and int(sum(holds.weight[live])) > holds.bound


def _waits(model: Model, spot: Spot, moment: IntArray) -> bool:
    """Whether what stands at a place has started and is not complete."""
    frame, row = model.frame, np.asarray([max(spot.row, 0)])
    if moment[spot.event] == _NEVER or spot.row < 0:
        return spot.event in held_back(frame, moment != _NEVER)
    own = np.flatnonzero(frame.ops.instruction == frame.ops.instruction[row[0]])
    messages = own[frame.run.is_message[own]]
    entries = own[frame.ops.is_kind(Kind.COLL, Kind.TIE)[own]]
    return bool(
        moment[frame.done(row)][0] == _NEVER
        or np.any(moment[frame.completed(messages)] == _NEVER)
        or len(entries)
    )


def _stuck(model: Model, graph: Graph, moment: IntArray) -> None:
    happened = moment != _NEVER
    able = enabled(model, graph, happened)
    if len(model.weak):
        frame, transfers = model.frame, movable(model, happened)
        moving = np.zeros(graph.size, np.bool_)
        moving[frame.drained(transfers)] = moving[frame.arrived(transfers)] = True
        able &= ~graph.held | moving
    if np.any(able) or np.all(happened[: model.events]):
        message = "the execution that is said to be stuck can go on"
        raise ReplayMismatchError(message)


def _demand(holds: bool, broken: Broken) -> None:  # noqa: FBT001  a condition, as in assert
    if not holds:
        message = f"the execution for {broken.rule.code} does not show it"
        raise ReplayMismatchError(message)
