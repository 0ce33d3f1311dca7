"""Accept or reject an execution, and what it is said to show, without any engine."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.found import NO_EVENT, Finding, Spot
from pipeproof.semantics.logic import (
    Acyclic,
    All,
    AtMost,
    Axiom,
    Empty,
    Enforced,
    Finally,
    Never,
    NotAfter,
    Rel,
    Rule,
)
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.relations.storage import held_back
from pipeproof.verdict._hops import Hops, known, named_pair, settled, uncertified
from pipeproof.verdict._running import NEVER, enabled, happen, rests
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


def check(model: Model, broken: Broken) -> None:
    """Check that a broken rule is broken: by its execution, and by what the relation holds of.

    Raises:
        ReplayMismatchError: the execution cannot happen, or does not show what is said.
    """
    axiom = broken.rule.axiom
    ordered = isinstance(axiom, Acyclic | Finally)
    graph = model.progress if ordered else model.happens_before
    moment = happen(model, graph, broken.trace)
    starts = [spot.event for spot in broken.finding.spots]
    last = [*starts, *([broken.finding.event] if broken.finding.event >= 0 else [])]
    held = held_back(model.frame, moment != NEVER) if isinstance(axiom, Acyclic) else {}
    shown = all(moment[event] != NEVER or event in held for event in last)
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
        case Empty() | Finally() | NotAfter():
            return _holds_of(model, axiom, finding, moment)
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
    late = (before < 0) | (moment[np.maximum(before, 0)] == NEVER)
    return bool(np.any(late | (len(model.weak) > 0)))


def _holds_of(
    model: Model, axiom: Empty | Finally | NotAfter, finding: Finding, moment: IntArray
) -> bool:
    """Whether a relation holds of a finding, where the execution ends or as it goes."""
    if isinstance(axiom, Finally):
        rests(model, model.progress, moment)
        return finding in model.ending(axiom.rel, moment != NEVER).found
    late = isinstance(axiom, Empty) or _is_late(finding, moment)
    return late and finding in model.findings(axiom.rel).found


def _is_late(finding: Finding, moment: IntArray) -> bool:
    """Whether an execution has the event of a finding behind what stands before it."""
    first = -1 if finding.before in (None, NO_EVENT) else int(moment[finding.before])
    return first < int(moment[finding.event]) < NEVER


def _exceeds(model: Model, measure: Rel, finding: Finding, moment: IntArray) -> bool:
    """Whether more is live than allowed where the execution reaches the place of a finding."""
    holds = model.holds(measure)
    (spot,) = finding.spots
    rank = int(model.frame.chain[spot.event])
    live = (holds.rank == rank) & (holds.start <= spot.event)
    ended = np.full(len(holds.start), -1, np.int64)
    np.maximum.at(ended, holds.of, moment[holds.ends])
    live &= (ended < 0) | (ended == NEVER)
    return holds.bound is not None and int(sum(holds.weight[live])) > holds.bound


def _waits(model: Model, spot: Spot, moment: IntArray) -> bool:
    """Whether what stands at a place has started and is not complete."""
    frame, row = model.frame, np.asarray([max(spot.row, 0)])
    if moment[spot.event] == NEVER or spot.row < 0:
        return spot.event in held_back(frame, moment != NEVER)
    own = np.flatnonzero(frame.ops.instruction == frame.ops.instruction[row[0]])
    messages = own[frame.run.is_message[own]]
    entries = own[frame.ops.is_kind(Kind.COLL, Kind.TIE)[own]]
    return bool(
        moment[frame.done(row)][0] == NEVER
        or np.any(moment[frame.completed(messages)] == NEVER)
        or len(entries)
    )


def _stuck(model: Model, graph: Graph, moment: IntArray) -> None:
    rests(model, graph, moment)
    if np.all(moment[: model.events] != NEVER):
        message = "the execution that is said to be stuck is complete"
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
    _accepted(moment[said.after] == NEVER, "what is said to be blocked happens")
    able = enabled(model, graph, moment != NEVER)
    _accepted(not np.any(able), "a run that is said to be all that can happen can go on")


def _missing(model: Model, axiom: Axiom, before: IntArray, after: IntArray) -> Iterator[str]:
    """Yield why an axiom is not shown by a complete run and pairs that are ordered."""
    match axiom:
        case Acyclic() | Never():
            return
        case Finally() | NotAfter():
            yield "no certificate can"
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
            shown |= _least(model, before, after, first, chain[needs.after]) <= needs.after
            for k in np.flatnonzero(~shown | (needs.before < 0)).tolist():
                yield f"event {needs.before[k]} is not said to come before {needs.after[k]}"


def _least(
    model: Model, before: IntArray, after: IntArray, first: IntArray, chain: IntArray
) -> IntArray:
    """Return the least event of a program that is said to come after an event of each pair.

    What comes after that one in its program comes after it, too.
    """
    known = model.frame.chain[after]
    width = int(model.frame.chain.max(initial=0)) + 2
    order = np.lexsort((after, known, before))
    keys = (before * width + known + 1)[order]
    place = np.searchsorted(keys, first * width + chain + 1)
    found = np.append(keys, -1)[place] == first * width + chain + 1
    return np.where(found, np.append(after[order], NEVER)[place], NEVER)


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
    _accepted(bool(np.any(moment[: known(model)] == NEVER)), "everything happens")
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
