"""Accept or reject an execution, and what it is said to show, without any engine."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, distinct
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.logic import (
    Acyclic,
    All,
    AtMost,
    Axiom,
    Empty,
    Enforced,
    Never,
    Rel,
    Rule,
)
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.relations.storage import held_back
from pipeproof.semantics.weak import movable
from pipeproof.verdict._hops import Hops, known, named_pair, settled, uncertified
from pipeproof.verdict.certificate import (
    PROVABLE,
    SHOWABLE,
    Blocked,
    Ordered,
    Path,
    Proved,
    Refuted,
    Statement,
)
from pipeproof.verdict.decision import Broken

__all__ = ["accept", "check", "happen"]

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
    """Whether what must come first has not happened where the execution reaches a place.

    With weak communicators messages move in an execution as late as they may, so that not every
    order that is open can be seen in one: there the pair is asked for, and no more.
    """
    needs = model.needs(rel)
    own = among(needs.rows, [spot.row for spot in finding.spots])
    if finding.before is not None:
        own &= needs.before == finding.before
    before = needs.before[own]
    late = (before < 0) | (moment[np.maximum(before, 0)] == _NEVER)
    return bool(np.any(late | (len(model.weak) > 0)))


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


def accept(model: Model, rules: Mapping[str, Rule], statement: Statement) -> None:
    """Check that a statement of a certificate holds of a model.

    Args:
        model: the schedule under the transport, and in the copies, that the statement names.
        rules: every rule by its code.
        statement: what is said, and what is to show it.

    Raises:
        ReplayMismatchError: it does not show what it says.
    """
    match statement:
        case Proved():
            _accept_proved(model, rules, statement)
        case Refuted():
            _accept_refuted(model, rules, statement)


def _accept_proved(model: Model, rules: Mapping[str, Rule], said: Proved) -> None:
    _accepted(0 < len(said.rules) == len({*said.rules}), "no rule is named, or one twice")
    outside = sorted({*said.rules} - (PROVABLE - uncertified(model.frame)))
    _accepted(not outside, f"no certificate can show {', '.join(outside)} of this schedule")
    _accepted(_all_paired(model), "an end of a message has no partner")
    _accepted(len(said.run) == model.events, "the run does not hold every event once")
    happen(model, model.progress, _events(model, said.run))
    before, after = _entries(model, said.paths)
    for code in said.rules:
        missing = next(_missing(model, rules[code].axiom, before, after), None)
        _accepted(missing is None, f"{code} is not shown: {missing}")


def _all_paired(model: Model) -> bool:
    ops = model.frame.ops
    messages = int(np.sum(ops.is_kind(Kind.SEND, Kind.RECV)))
    return known(model) == model.events and messages == 2 * len(model.frame.pairing)


def _events(model: Model, run: Sequence[int]) -> IntArray:
    """Return a run as an array, once every event in it is one that certificates know."""
    _accepted(max(run, default=0) < known(model), "a run names an event that does not exist")
    return np.asarray(run, np.int64)


def _entries(model: Model, paths: Sequence[Ordered]) -> tuple[IntArray, IntArray]:
    """Return the pairs that `paths` show to be ordered, once each has been followed."""
    steps: list[int] = []
    ends: list[int] = []
    for each in paths:
        match each:
            case Path():
                whole = each.path[:1] == (each.before,) and each.path[-1:] == (each.after,)
                _accepted(whole, "a path does not lead from its first event to its last")
                steps.extend(each.path)
                ends.append(len(steps))
            case Blocked():
                _accept_blocked(model, each)
    events = _events(model, steps)
    inner = np.ones(max(len(steps) - 1, 0), np.bool_)
    inner[np.asarray(ends[:-1], np.int64) - 1] = False
    steps_hold = Hops(model).are(events[:-1][inner], events[1:][inner])
    _accepted(bool(np.all(steps_hold)), "a step of a path is none")
    pairs = np.asarray([(each.before, each.after) for each in paths], np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _accept_blocked(model: Model, said: Blocked) -> None:
    """Check that all happens without an event that can, and another one does not."""
    _accepted(max(said.before, said.after) < known(model), "there is no such event")
    never = model.happens_before.never.copy()
    never[said.before] = True
    graph = model.happens_before._replace(never=never)
    moment = happen(model, graph, _events(model, said.run))
    _accepted(moment[said.after] == _NEVER, "what is said to be blocked happens")
    able = enabled(model, graph, moment != _NEVER)
    _accepted(not np.any(able), "a run that is said to be all that can happen can go on")


def _missing(model: Model, axiom: Axiom, before: IntArray, after: IntArray) -> Iterator[str]:
    """Yield why an axiom is not shown by a complete run and pairs that are ordered."""
    match axiom:
        case Acyclic() | Never():
            return
        case Empty(rel):
            if model.findings(rel).found:
                yield "the schedule breaks it"
        case AtMost():
            yield "no certificate can"
        case All(axioms):
            for each in axioms:
                yield from _missing(model, each, before, after)
        case Enforced(rel):
            needs, chain = model.needs(rel), model.frame.chain
            first = np.maximum(needs.before, 0)
            shown = (chain[first] == chain[needs.after]) & (first <= needs.after)
            size = model.events
            shown |= among(first * size + needs.after, before * size + after)
            for k in np.flatnonzero(~shown | (needs.before < 0)).tolist():
                yield f"event {needs.before[k]} is not said to come before {needs.after[k]}"


def _accept_refuted(model: Model, rules: Mapping[str, Rule], said: Refuted) -> None:
    wanted = SHOWABLE - uncertified(model.frame)
    _accepted(said.rule in wanted, f"no certificate can show {said.rule} of this schedule")
    shown = any(_is_shown(model, each, said) for each in _parts(rules[said.rule].axiom))
    _accepted(shown, f"what is said does not show {said.rule}")


def _parts(axiom: Axiom) -> Iterator[Axiom]:
    match axiom:
        case All(axioms):
            for each in axioms:
                yield from _parts(each)
        case _:
            yield axiom


def _is_shown(model: Model, axiom: Axiom, said: Refuted) -> bool:
    """Whether an execution shows that an axiom does not hold."""
    match axiom:
        case Acyclic() if said.pair is None:
            return _ends_stuck(model, said)
        case Empty(rel) if said.pair is None:
            found = model.findings(rel).found
            return any(_placed(model, each) == {*said.places} for each in found)
        case Enforced(rel) if said.pair is not None:
            needs, (before, after) = model.needs(rel), said.pair
            asked = any(
                named_pair(model, needs, k) == said.pair
                for k in np.flatnonzero(needs.after == after).tolist()
            )
            ends = said.run[-1:] == (after,) and before not in said.run
            happen(model, settled(model, model.happens_before), _events(model, said.run))
            return bool(asked and ends)
        case _:
            return False


def _placed(model: Model, finding: Finding) -> set[tuple[int, int]]:
    """Return rank and position, over all copies as run, of what a finding names."""
    frame = model.frame
    found = set()
    for spot in finding.spots:
        rank, instruction = int(frame.ops.rank[spot.row]), int(frame.ops.instruction[spot.row])
        found.add((rank, instruction - int(frame.run.rank_start[rank])))
    return found


def _ends_stuck(model: Model, said: Refuted) -> bool:
    frame, graph = model.frame, settled(model, model.progress)
    moment = happen(model, graph, _events(model, said.run))
    _stuck(model, graph, moment)
    _accepted(bool(np.any(moment[: known(model)] == _NEVER)), "everything happens")
    length = np.diff(frame.run.rank_start)
    if not said.places or any(
        rank >= frame.ranks or position >= length[rank] for rank, position in said.places
    ):
        return False
    instructions = [frame.run.rank_start[rank] + position for rank, position in said.places]
    rows = [int(frame.ops.first_row[instruction]) for instruction in instructions]
    return all(
        _waits(model, Spot(2 * int(frame.ops.instruction[row]), row), moment) for row in rows
    )


def _accepted(holds: bool, why: str) -> None:  # noqa: FBT001  a condition, as in assert
    if not holds:
        raise ReplayMismatchError(why)
