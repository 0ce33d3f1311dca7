"""What faults keep from happening, and what must not come of them: section 7 of the language."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.faults import Faulted, Struck
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import distinct
from pipeproof.semantics.found import NO_EVENT, Edges, Finding, Findings, no_edges
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._corrupted import steps_that_rest_on
from pipeproof.semantics.relations._spots import at, finding
from pipeproof.semantics.relations._standing import Standing, standing
from pipeproof.semantics.relations._windows import boundaries, closed_before

__all__ = ["diverged", "late_steps", "occurs", "struck", "waiting"]

_Happened = npt.NDArray[np.bool_]
_NONE = Findings(0)


def struck(frame: Frame) -> Edges:
    """What a fault keeps back: a rank starts nothing more, or a message never arrives.

    The copy of a message leaves behind the original.
    """
    faults = frame.run.faults
    if faults is None:
        return no_edges()
    never = [event for each in faults.struck for event in _kept_back(frame, each)]
    pairing = frame.pairing
    copies = np.flatnonzero(pairing.send >= 0)
    copies = copies[pairing.of_row[pairing.send[copies]] != copies]
    first = pairing.of_row[pairing.send[copies]]
    pairs = np.stack((frame.drained(first), frame.drained(copies)), axis=1)
    return Edges(pairs, never=np.asarray(sorted(set(never)), np.int64))


def _kept_back(frame: Frame, fault: Struck) -> Iterator[int]:
    if fault.kind in ("missing", "stops"):
        instruction = _stop(frame, fault)
        if instruction < frame.run.rank_start[fault.rank + 1]:
            yield 2 * instruction
    elif fault.kind == "dropped":
        for row in _rows(frame, fault).tolist():
            yield int(frame.arrived(frame.pairing.of_row[np.asarray(row)]))


def _rows(frame: Frame, fault: Struck) -> IntArray:
    """Return the row that a fault strikes, none where it was passed over."""
    run = frame.run
    return np.flatnonzero((run.base == fault.base) & (run.copy == fault.copy))


def _stop(frame: Frame, fault: Struck) -> int:
    """Return the first instruction that a rank does not start, as run over all ranks."""
    run = frame.run
    first, behind = (int(run.rank_start[fault.rank + each]) for each in (0, 1))
    if fault.kind == "missing" or first == behind:
        return first
    rows = frame.ops.first_row[first:behind]
    written = run.schedule.operations.position
    position = np.where(run.written[rows] >= 0, written[np.maximum(run.written[rows], 0)], 0)
    stopped = (run.copy[rows] > fault.copy) | (
        (run.copy[rows] == fault.copy) & (position >= fault.at)
    )
    left = np.flatnonzero(stopped)
    return first + int(left[0]) if len(left) else behind


def _moment(frame: Frame, fault: Struck) -> int | None:
    """Return the event after which a fault has happened, NO_EVENT from the start; None: never."""
    if fault.kind in ("missing", "stops"):
        stop = _stop(frame, fault)
        return NO_EVENT if stop == frame.run.rank_start[fault.rank] else 2 * stop - 1
    rows = _rows(frame, fault)
    if not len(rows):
        return None
    row = rows[:1]
    if not frame.run.is_message[row[0]] or frame.ops.kind[row[0]] != Kind.SEND:
        return int(frame.start(row)[0])
    return int(frame.drained(frame.pairing.of_row[row])[0])


def occurs(frame: Frame) -> bool:
    """Whether any of the faults can strike: not all of them what was passed over."""
    faults = frame.run.faults
    return faults is not None and any(_moment(frame, each) is not None for each in faults.struck)


def _steps(frame: Frame) -> IntArray:
    rows = boundaries(frame)
    return np.asarray(rows[frame.ops.kind[rows] == Kind.STEP])


def late_steps(frame: Frame) -> Findings:
    """No STEP completes after a fault; to recover, none that rests on a corrupted message."""
    faults = frame.run.faults
    if faults is None:
        return _NONE
    rows = _steps(frame)
    if faults.policy == "recover":
        sends = [_rows(frame, each) for each in faults.struck if each.kind == "corrupted"]
        resting = steps_that_rest_on(frame, np.concatenate(sends)) if sends else {}
        found = [_late(frame, row, NO_EVENT, f"rests on {resting[row]}") for row in sorted(resting)]
        return Findings(len(rows), [each for each in found if each.spots[0].row in set(rows)])
    moments = dict.fromkeys(_moment(frame, each) for each in faults.struck)
    found = [
        _late(frame, row, moment, "completes after the fault")
        for row in rows.tolist()
        for moment in moments
        if moment is not None
    ]
    return Findings(len(rows), found)


def _late(frame: Frame, row: int, moment: int, why: str) -> Finding:
    event = int(frame.done(np.asarray(row)))
    facts = {"op": frame.text(row), "why": f"{frame.text(row)} of rank {frame.ops.rank[row]} {why}"}
    return Finding((at(frame, row),), facts, event, moment)


def diverged(frame: Frame, happened: _Happened) -> Findings:
    """Where nothing more can happen: what of ranks differs that the policy asks to be alike."""
    faults = frame.run.faults
    if faults is None:
        return _NONE
    if faults.policy == "raise":
        return _unnamed(frame, faults, happened)
    rows = boundaries(frame)
    completed = np.zeros(len(frame.ops), np.bool_)
    steps = _steps(frame)
    completed[steps] = happened[frame.done(steps)]
    turn = closed_before(frame, rows)
    found = []
    for step in distinct(turn).tolist():
        here = rows[turn == step]
        if faults.policy == "recover":
            lost = [row for row in here.tolist() if _was_taken(frame, faults, row)]
            here = np.asarray([row for row in lost if not completed[row]], np.int64)
        elif np.all(completed[here]) or not np.any(completed[here]):
            continue
        if len(here):
            found.append(finding(frame, *here.tolist(), why=_said(frame, here, completed)))
    return Findings(len(rows), found)


def _was_taken(frame: Frame, faults: Faulted, row: int) -> bool:
    step = frame.ops.kind[row] == Kind.STEP
    return bool(step and (faults.steps is None or row in faults.steps))


def _said(frame: Frame, rows: IntArray, completed: _Happened) -> str:
    def ranks(chosen: IntArray) -> str:
        return ", ".join(str(rank) for rank in distinct(frame.ops.rank[chosen]).tolist())

    taking, others = rows[completed[rows]], rows[~completed[rows]]
    if not len(taking):
        return f"rank {ranks(others)} does not complete the optimizer step"
    return f"rank {ranks(taking)} completes the optimizer step, rank {ranks(others)} does not"


def _unnamed(frame: Frame, faults: Faulted, happened: _Happened) -> Findings:
    """A rank that goes on no more stands at an operation that names the fault."""
    messages = {
        int(transfer)
        for each in faults.struck
        if each.base >= 0
        for row in _rows(frame, each).tolist()
        if frame.run.is_message[row]
        for transfer in np.flatnonzero(frame.pairing.send == row).tolist()
    }
    found = [
        Finding((each.spot,), {"why": f"{each.text} waits for ever, and does not name the fault"})
        for each in _left(frame, faults, happened)
        if not each.names(faults.ranks, messages)
    ]
    return Findings(frame.ranks, found)


def waiting(frame: Frame, happened: _Happened) -> Findings:
    """Where nothing more can happen, no rank but that of the fault waits."""
    faults = frame.run.faults
    if faults is None or faults.policy == "raise":
        return _NONE
    found = [
        Finding((each.spot,), {"why": f"{each.text} waits for ever"})
        for each in _left(frame, faults, happened)
    ]
    return Findings(frame.ranks, found)


def _left(frame: Frame, faults: Faulted, happened: _Happened) -> Iterator[Standing]:
    for each in standing(frame, happened):
        excused = each.rank in faults.ranks
        if not excused and (faults.ending is None or each.rank in faults.ending):
            yield each
