"""Where the boxes of a timeline lie: an execution, and when each operation begins and ends in it.

Of a legal schedule that is the earliest execution, in time. Nothing is said of how fast another
one is: there every instruction takes a step, and what an execution does not reach lies behind its
frontier, in the order of the programs.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import COMPUTE
from pipeproof.ir.costs import DEFAULT, costs_of
from pipeproof.ir.operations import Bracket, IntArray
from pipeproof.semantics.earliest import NEVER, by_rounds, levels, moments
from pipeproof.semantics.earliest import execution as in_time
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import Acyclic, Finally
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.weak import movable
from pipeproof.verdict._running import enabled
from pipeproof.verdict.decision import Broken, Decision

__all__ = ["STEPS", "Layout", "execution", "layout"]

STEPS = "steps, one for each instruction"
"""The axis where no time is told."""

_OVER, _OPEN = 1, 2
_LARGEST = 2**53
_Flags = npt.NDArray[np.bool_]


class Layout(NamedTuple):
    """When each operation begins and ends, in ticks, shape `(rows,)`.

    `happened` is 1 for what is over and complete, 2 for what has started and is not, 0 for what has
    not started; that lies behind `frontier`, None where everything happens. `axis` says what a
    unit is, of which `unit` ticks make one; `span` is the end of everything. `timed` says that the
    axis is time. `complete` is when an operation has ended and its message has moved, `frontier`
    for what has started and is not complete.
    """

    start: IntArray
    end: IntArray
    happened: IntArray
    frontier: int | None
    span: int
    unit: int
    axis: str
    complete: IntArray
    timed: bool = False


def layout(model: Model, decision: Decision, broken: Broken | None) -> Layout:
    """Return where the operations lie in `execution`."""
    if _is_timed(model, decision, broken):
        found = moments(model.frame, model.progress)
        if found.at.dtype != np.object_ and int(found.at.max(initial=0)) < _LARGEST:
            return _timed(model.frame, found.at, found.unit)
    events = execution(model, decision, broken)
    return _stepped(model.frame, _order(model, broken), events)


def execution(model: Model, decision: Decision, broken: Broken | None) -> IntArray:
    """Return the events of one execution in the order in which they happen.

    Of `broken` what shows it; else the earliest execution, as far as anything can happen.
    """
    if broken is not None and len(broken.trace):
        return broken.trace
    if _is_timed(model, decision, broken):
        return in_time(model.frame, model.progress)
    level = _levels(model, model.progress)[: model.events]
    events = np.flatnonzero(level != NEVER)
    return events[np.argsort(level[events], kind="stable")]


def _is_timed(model: Model, decision: Decision, broken: Broken | None) -> bool:
    """Whether time is told: of what is legal, where messages move when they can."""
    legal = broken is None and not decision.broken and decision.complete
    return legal and not bool(np.any(model.progress.held))


def _order(model: Model, broken: Broken | None) -> Graph:
    """Return the guards that the execution obeys."""
    if broken is None or not len(broken.trace):
        return model.progress
    stuck = isinstance(broken.rule.axiom, Acyclic | Finally)
    return model.progress if stuck else model.happens_before


def _levels(model: Model, graph: Graph) -> IntArray:
    """Return a number for each event, behind those of all it waits for; NEVER if it never is."""
    if not np.any(graph.held):
        return levels(graph)
    found, now, moving = np.full(graph.size, NEVER, np.int64), 0, np.zeros(graph.size, np.bool_)
    while True:
        _open_gates(model, graph, found)
        able = enabled(model, graph, found != NEVER)
        chosen = np.flatnonzero(able & moving)
        chosen = chosen if len(chosen) else np.flatnonzero(able & ~graph.held)
        if not len(chosen):
            moving = _moving(model, graph, found != NEVER)
            chosen = np.flatnonzero(able & moving)
        if not len(chosen):
            return found
        found[chosen] = now = now + 1


def _moving(model: Model, graph: Graph, happened: _Flags) -> _Flags:
    """Return the events of weak messages that move together, now that nothing else can happen."""
    moving = np.zeros(graph.size, np.bool_)
    transfers = movable(model, happened)
    moving[model.frame.drained(transfers)] = moving[model.frame.arrived(transfers)] = True
    return moving


def _open_gates(model: Model, graph: Graph, found: IntArray) -> None:
    """Let each gate happen with the last event that it waits for."""
    into = np.flatnonzero(graph.after >= model.events)
    waits = graph.never.copy()
    waits[graph.after[into[found[graph.before[into]] == NEVER]]] = True
    gates = np.arange(model.events, graph.size)
    found[gates[~waits[gates]]] = 0


def _timed(frame: Frame, at: IntArray, unit: int) -> Layout:
    """Lay out the earliest execution; members of an overlap come one after the other."""
    ops, first = frame.ops, 2 * frame.ops.instruction
    overlaps = ops.bracket == Bracket.OVERLAP
    takes = _ticks(frame)
    behind = _inside(frame, np.where(overlaps, takes, 0))
    start = at[first] + behind
    end = np.where(overlaps, start + takes, at[first + 1])
    costs = frame.run.schedule.described.get("costs")
    each = ", ".join(f"{name} {time}" for name, time in DEFAULT.items() if time)
    axis = f"time, if operations take {each}" if costs is None else "time, in units of costs"
    span = int(end.max(initial=0))
    happened, complete = np.ones(len(ops), np.int64), _moved(frame, end, at)
    return Layout(start, end, happened, None, span, unit, axis, complete, timed=True)


def _moved(frame: Frame, end: IntArray, at: IntArray) -> IntArray:
    """Return the end of each operation, and of a message no less than when it has moved."""
    message = np.flatnonzero(frame.run.is_message)
    complete = end.copy()
    complete[message] = np.maximum(end[message], at[frame.completed(message)])
    return complete


def _ticks(frame: Frame) -> IntArray:
    """Return what each operation takes."""
    ops, costs = frame.ops, costs_of(frame.run.schedule)
    takes = np.zeros(len(ops), np.int64)
    for kind in COMPUTE:
        rows = np.flatnonzero(ops.is_kind(kind))
        each = np.asarray((*costs.ticks[kind.name], 0), np.object_)
        known = (ops.stage[rows] >= 0) & (ops.stage[rows] < len(each) - 1)
        takes[rows] = each[np.where(known, ops.stage[rows], -1)].astype(np.int64)
    return takes


def _inside(frame: Frame, widths: IntArray) -> IntArray:
    """Return how far behind the start of its instruction each row begins."""
    begins = np.cumsum(widths) - widths
    return np.asarray(begins - begins[frame.ops.first_row[frame.ops.instruction]])


def _stepped(frame: Frame, graph: Graph, events: IntArray) -> Layout:
    """Lay out an execution that may end early, a step for each instruction."""
    ops, number = frame.ops, frame.ops.instruction
    happened = np.zeros(frame.events, np.bool_)
    happened[events] = True
    overlaps = ops.bracket == Bracket.OVERLAP
    width = np.bincount(number[overlaps], minlength=frame.instructions)
    width = np.maximum(width, 1)
    at = _longest(graph, events, width, frame.events)
    begun, over = happened[0 : frame.ends : 2], happened[1 : frame.ends : 2]
    first = np.where(begun, at[0 : frame.ends : 2], 0)
    last = np.where(over, at[1 : frame.ends : 2], first + width)
    whole = bool(np.all(happened))
    frontier = int(last[begun].max(initial=0)) + (not whole)
    last = np.where(begun & ~over, frontier, last)
    rest = _behind(frame, begun, width)
    first, last = np.where(begun, first, frontier + rest), np.where(begun, last, frontier + rest)
    last = np.where(begun, last, first + width)
    behind = _inside(frame, overlaps.astype(np.int64))
    closes = np.append(np.diff(number) != 0, [True])
    start = first[number] + behind
    end = np.where(overlaps & ~closes, start + 1, last[number])
    told = np.where(over[number], _OVER, np.where(begun[number], _OPEN, 0))
    message = np.flatnonzero(frame.run.is_message)
    open_ = message[~happened[frame.completed(message)]]
    told[open_] = np.where(told[open_] == _OVER, _OPEN, told[open_])
    complete = np.where(told == _OPEN, np.maximum(frontier, end), _moved(frame, end, at))
    span = int(end.max(initial=0))
    ends = None if whole else frontier
    return Layout(start, end, told, ends, span, 1, STEPS, complete)


def _behind(frame: Frame, begun: _Flags, width: IntArray) -> IntArray:
    """Return how far behind the frontier each instruction lies that has not started."""
    bounds, rank = frame.run.rank_start, frame.instruction_rank
    started = np.bincount(rank[begun], minlength=frame.ranks)
    begins = np.append(np.cumsum(width) - width, [int(width.sum())])
    return np.asarray(begins[:-1] - begins[bounds[:-1] + started][rank])


def _longest(graph: Graph, events: IntArray, width: IntArray, gates: int) -> IntArray:
    """Return when each of `events` happens if instructions take their width, others no time.

    Gates are numbered from `gates` on. Where a channel has room for so many messages, a send waits
    for the message that far before it if that has arrived by then.
    """
    turn = np.full(graph.size, NEVER, np.int64)
    turn[events] = np.arange(len(events))
    before, after = [graph.before], [graph.after]
    for credit in graph.credits:
        late = credit.drained[credit.capacity :]
        early = credit.arrived[: len(late)]
        late = late[: len(early)]
        chosen = (turn[early] != NEVER) & (turn[late] > turn[early])
        before.append(early[chosen])
        after.append(late[chosen])
    turn[gates:] = 0
    pairs = np.concatenate(before), np.concatenate(after)
    own = (turn[pairs[0]] != NEVER) & (turn[pairs[1]] != NEVER)
    never = np.zeros(graph.size, np.bool_)
    takes = np.zeros(graph.size, np.int64)
    takes[1 : 2 * len(width) : 2] = width
    plain = graph._replace(before=pairs[0][own], after=pairs[1][own], never=never, credits=())
    return by_rounds(plain, takes.tolist())
