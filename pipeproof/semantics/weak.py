"""Weak communicators: messages that move only while both ranks are inside a call on them."""

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations.moving import moving_sets

__all__ = ["current", "movable", "stands_on"]


def current(frame: Frame, happened: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> IntArray:
    """Return the first instruction of each rank that has not ended, -1 where all have."""
    bounds = frame.run.rank_start
    open_ = np.flatnonzero(~happened[1 : frame.ends : 2])
    at = np.searchsorted(open_, bounds[:-1])
    found = np.append(open_, frame.instructions)[at]
    return np.where(found < bounds[1:], found, -1)


def stands_on(frame: Frame, rank: int, instruction: int, *, inside: bool) -> frozenset[int]:
    """Return the communicators that a rank waits on where it stands.

    Args:
        frame: the events.
        rank: the rank.
        instruction: where it stands, -1 at the end of its program.
        inside: whether the instruction has started.
    """
    waits, message = frame.waits, frame.run.is_message
    moment = frame.ends + rank if instruction < 0 else 2 * instruction + int(inside)
    rows = waits.rows[waits.moments == moment]
    found = set(frame.ops.comm[rows[message[rows]]].tolist())
    if instruction >= 0 and inside:
        own = np.flatnonzero((frame.ops.instruction == instruction) & message)
        found |= set(frame.ops.comm[own].tolist())
    return frozenset(found)


def movable(model: Model, happened: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> IntArray:
    """Return the weak transfers of which both ranks stand in a call on their communicator.

    A rank stands where it goes on only after some message of the communicator, whichever it is.
    """
    frame = model.frame
    calls = [
        stands_on(frame, rank, at, inside=at >= 0 and bool(happened[2 * at]))
        for rank, at in enumerate(current(frame, happened).tolist())
    ]
    able = np.asarray([_inside(frame, transfer, calls) for transfer in model.weak.tolist()])
    if not len(able) or not frame.atomic:
        return model.weak[able.astype(np.bool_)]
    sets = moving_sets(frame)[model.weak]
    return model.weak[~among(sets, sets[~able])]


def _inside(frame: Frame, transfer: int, calls: list[frozenset[int]]) -> bool:
    """Whether both ranks of a transfer stand in a call, where its communicator is weak."""
    row = max(int(frame.pairing.send[transfer]), int(frame.pairing.receive[transfer]))
    comm = int(frame.ops.comm[row])
    if frame.ops.comms[comm] not in frame.transport.weak:
        return True
    return all(comm in calls[int(rank)] for rank in (frame.ops.rank[row], frame.ops.peer[row]))
