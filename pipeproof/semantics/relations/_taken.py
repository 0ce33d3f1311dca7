"""Slots that are handed out at run time, to whoever asks first: how many are out at once."""

from collections.abc import Mapping

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.bounds import lifetimes

__all__ = ["taken"]


def taken(frame: Frame) -> IntArray:
    """Return what a forward waits for that takes a slot of its stash, as pairs of events.

    All who take a slot of one pool, and all who give one back, stand on one program. So the n-th
    to ask waits for as many slots to be given back as there are too few, in the order in which the
    program gives them back; for one that is never given back, for the end of the program.
    """
    pool = _pool(frame)
    if pool is None:
        return np.zeros((0, 2), np.int64)
    ops, slots = frame.ops, int(str(pool["slots"]))
    forwards, last = lifetimes(frame)
    named = [row for row, said in ops.attributes.items() if "keep" in said]
    own = ~np.isin(forwards, named)
    forwards, last = forwards[own], last[own]
    key = ops.rank[forwards]
    if pool.get("per") != "rank":
        key = key * frame.run.schedule.stages + ops.stage[forwards]
    pairs = [np.zeros((0, 2), np.int64)]
    for each in sorted(set(key.tolist())):
        mine = np.flatnonzero(key == each)
        asking = np.sort(forwards[mine])[slots:]
        given = np.sort(last[mine])
        given = given[given >= 0][: len(asking)]
        before = np.full(len(asking), frame.ends + int(ops.rank[forwards[mine[0]]]))
        before[: len(given)] = frame.done(given)
        pairs.append(np.stack((before, frame.start(asking)), axis=1))
    return np.concatenate(pairs)


def _pool(frame: Frame) -> Mapping[str, object] | None:
    described = frame.run.schedule.described.get("storage")
    pool = described.get("stash") if isinstance(described, Mapping) else None
    return pool if isinstance(pool, Mapping) and "take" in pool else None
