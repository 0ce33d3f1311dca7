"""What one step of a path may be, and which events certificates know."""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from pipeproof.ir.accesses import TORCH_PROFILES
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.ir.storage import Touch
from pipeproof.semantics.assumptions import relations
from pipeproof.semantics.found import NO_EVENT, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import HAPPENS_BEFORE
from pipeproof.semantics.model import Graph, Model

__all__ = ["Hops", "counts", "known", "named_pair", "settled", "uncertified"]

_RUNNING = (Kind.REDUCE, Kind.NORM, Kind.TIE)


def known(model: Model) -> int:
    """Return how many events certificates know: those of ends without a partner they do not."""
    pairing = model.frame.pairing
    paired = int(np.sum((pairing.send >= 0) & (pairing.receive >= 0)))
    return model.frame.first_transfer + 2 * paired


def settled(model: Model, graph: Graph) -> Graph:
    """Return the guards under which an end without a partner never completes."""
    never = graph.never.copy()
    never[known(model) : model.events] = True
    return graph._replace(never=never)


def uncertified(frame: Frame) -> frozenset[str]:
    """Return the rules that a certificate cannot show of a schedule: part of them stands outside.

    The order of segments, forwards that count no more, reductions that run, and what torch does
    with values that it gave away.
    """
    ops = frame.ops
    found: set[str] = set()
    if frame.run.schedule.segments > 1:
        found |= {"PP401", "PP402", "PP403"}
    if np.any(ops.is_kind(Kind.ROLLBACK)):
        found |= {"PP402", "PP404"}
    if np.any(ops.is_kind(*_RUNNING) & (ops.handle >= 0)):
        found |= {"PP501", "PP502"}
    if frame.run.schedule.profile in TORCH_PROFILES:
        found |= {"PP504", "PP505"}
    return frozenset(found)


def counts(model: Model) -> IntArray:
    """Return the guards that are counts and only look like edges, shape `(n, 2)`."""
    if "credited" not in relations(model.frame.transport, HAPPENS_BEFORE):
        return np.zeros((0, 2), np.int64)
    return model.edges("credited").pairs


def named_pair(model: Model, needs: Needs, k: int) -> tuple[int, int]:
    """Return the k-th pair that must be ordered as certificates name it.

    Before what is there only later stands the event that puts it there, and before a FREE the end
    of a reader that comes too late; -1 where there is no event.
    """
    frame = model.frame
    before, after, row = int(needs.before[k]), int(needs.after[k]), int(needs.rows[k])
    other = -1 if needs.others is None else int(needs.others[k])
    if before == NO_EVENT:
        late = _put_later(frame, row) if other == row else other
        before = _over(frame, late) if late >= 0 else before
    elif frame.chain[before] >= 0 and before < frame.ends:
        members = np.flatnonzero(frame.ops.instruction == before // 2)
        received = members[frame.run.is_message[members]]
        received = received[frame.ops.is_kind(Kind.RECV)[received]]
        received = received[frame.ops.value[received] == needs.values[k]]
        before = _over(frame, int(received[0])) if len(received) else before
    return (before if before < known(model) else NO_EVENT), after


def _over(frame: Frame, row: int) -> int:
    """Return the event at which what an operation does with storage is over."""
    rows = np.asarray([row])
    moves = bool(frame.run.is_message[row])
    return int((frame.completed(rows) if moves else frame.done(rows))[0])


def _put_later(frame: Frame, row: int) -> int:
    """Return the row that puts what a row reads into an empty storage afterwards, -1 for none."""
    stored = frame.run.storage
    if stored is None:
        return -1
    empty = stored.coming & ~stored.given & ~stored.told & (stored.before < 0)
    for read in np.flatnonzero(empty & (stored.rows == row)).tolist():
        puts = (stored.touch == Touch.WRITE) & (stored.storage == stored.storage[read])
        puts &= stored.values == stored.values[read]
        later = np.flatnonzero(puts[read:])
        if len(later):
            return int(stored.rows[read + later[0]])
    return -1


class Hops:
    """Which events wait for which, or follow them in one program; counts are no steps."""

    def __init__(self, model: Model) -> None:
        graph = model.happens_before
        self._chain = model.frame.chain
        self._size = graph.size
        key = graph.before * graph.size + graph.after
        key = key[~among(key, counts(model) @ np.asarray([graph.size, 1]))]
        before, after = key // graph.size, key % graph.size
        plain = (before < model.events) & (after < model.events)
        self._direct = np.sort(key[plain])
        self._into: dict[int, set[int]] = defaultdict(set)
        self._out_of: dict[int, set[int]] = defaultdict(set)
        for a, b in zip(before[~plain].tolist(), after[~plain].tolist(), strict=True):
            if b >= model.events:
                self._into[a].add(b)
            else:
                self._out_of[b].add(a)

    def are(self, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
        """Return which pairs of events are one step."""
        chain = self._chain
        found = (chain[before] == chain[after]) & (chain[before] >= 0) & (before < after)
        open_ = np.flatnonzero(~found)
        found[open_] = among(before[open_] * self._size + after[open_], self._direct)
        for k in np.flatnonzero(~found).tolist():
            gates = self._into.get(int(before[k]), set()) & self._out_of.get(int(after[k]), set())
            found[k] = bool(gates)
        return np.asarray(found)
