"""Checkpoints: what is under way when one is taken, and what comes back when a run goes on."""

from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Finding, Findings, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._pending import Pending, pending
from pipeproof.semantics.relations._spots import finding

__all__ = ["undrained", "unrestored", "unsettled"]

_IN_FLIGHT = ("versions", "pending", "order", "rng", "data")


def undrained(frame: Frame) -> Findings:
    """A checkpoint stands where nothing of its rank's program is under way.

    Every forward before it has its whole backward before it, every contribution the STEP or SKIP
    that takes it, and every value that was put there has been read by all its readers.
    """
    saves = _saves(frame)
    if not len(saves):
        return Findings(0)
    open_ = pending(frame)
    first = open_.first_at(saves)
    found = [
        finding(frame, row, **_cause(frame, open_, cause))
        for row, cause in zip(saves.tolist(), first.tolist(), strict=True)
        if cause >= 0
    ]
    return Findings(len(saves), found)


def _saves(frame: Frame) -> IntArray:
    """Return the checkpoints that save nothing of what is under way."""
    rows = np.flatnonzero(frame.ops.is_kind(Kind.SAVE))
    attributes = frame.ops.attributes
    plain = [row for row in rows.tolist() if "async" not in attributes.get(row, {})]
    return np.asarray(plain, np.int64)


def _cause(frame: Frame, open_: Pending, cause: int) -> dict[str, str]:
    opened, closed = int(open_.opened[cause]), int(open_.closed[cause])
    value = int(open_.value[cause])
    name = frame.text(opened) if value < 0 else frame.ops.value_text(value)
    other = frame.text(closed) if closed >= 0 else f"the backward of {frame.text(opened)}"
    return {"value": name, "other": other}


def unsettled(frame: Frame) -> Needs:
    """A checkpoint comes after every message that its rank posted before it is complete.

    Only messages that no instruction before the checkpoint waits for are in question, and
    checkpoints that stand where nothing else is under way.
    """
    saves = _saves(frame)
    if len(saves):
        saves = saves[pending(frame).first_at(saves) < 0]
    messages = frame.run.is_message
    pairs: list[tuple[IntArray, IntArray]] = []
    for save in saves.tolist():
        low = int(np.searchsorted(frame.ops.rank, frame.ops.rank[save]))
        rows = low + np.flatnonzero(messages[low:save])
        moment = frame.awaited[rows]
        rows = rows[(moment < 0) | (moment > frame.start(np.asarray(save)))]
        pairs.append((np.full(len(rows), save), rows))
    save_of = np.concatenate([each for each, _ in pairs] or [np.zeros(0, np.int64)])
    rows = np.concatenate([each for _, each in pairs] or [np.zeros(0, np.int64)])
    before, values = frame.completed(rows), frame.ops.value[rows]
    return Needs(before, frame.start(save_of), save_of, values, rows, once=True)


class _Saved(NamedTuple):
    """A checkpoint: how many microbatches had been taken from the data, and what it lacks."""

    taken: int
    lacks: tuple[str, ...]


def unrestored(frame: Frame) -> Findings:
    """A run goes on where its last checkpoint was taken, with all that was under way there.

    In copies of the programs the first decides: places in the data are as written.
    """
    kinds = (Kind.SAVE, Kind.CONSUME, Kind.RESUME, Kind.RESTORE)
    rows = np.flatnonzero(frame.ops.is_kind(*kinds) & (frame.run.copy == 0))
    taken: dict[int, int] = {}
    saved: dict[int, _Saved] = {}
    judged, found = 0, list[Finding]()
    for row in rows.tolist():
        rank, said = int(frame.ops.rank[row]), frame.ops.attributes.get(row, {})
        why = ""
        match Kind(int(frame.ops.kind[row])):
            case Kind.CONSUME:
                taken[rank] = taken.get(rank, 0) + int(said["count"])
            case Kind.SAVE:
                saved[rank] = _Saved(taken.get(rank, 0), _lacking(said.get("async")))
            case Kind.RESUME:
                judged += rank in saved
                why = _resumed(int(said["at"]), saved.get(rank))
                taken[rank] = saved[rank].taken if rank in saved else int(said["at"])
            case _:
                judged += 1
                if said["have"] != said["want"]:
                    why = f"has {said['have']} where {said['want']} was saved"
        if why:
            found.append(finding(frame, row, why=why))
    return Findings(judged, found)


def _lacking(in_flight: str | None) -> tuple[str, ...]:
    """Return what a checkpoint that is taken in flight leaves out."""
    return (
        ()
        if in_flight is None
        else tuple(each for each in _IN_FLIGHT if each not in in_flight.split(","))
    )


def _resumed(at: int, saved: _Saved | None) -> str:
    """Return what is wrong with going on at a microbatch, nothing where it is right."""
    if saved is None:
        return ""
    wrong = []
    if at != saved.taken:
        wrong.append(f"goes on at {at}, the last SAVE stands at {saved.taken}")
    if saved.lacks:
        wrong.append(f"goes on from a SAVE without {', '.join(saved.lacks)}")
    return " and ".join(wrong)
