"""What one step of a path may be, and which events certificates know."""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.assumptions import relations
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import HAPPENS_BEFORE
from pipeproof.semantics.model import Graph, Model

__all__ = ["Hops", "counts", "known", "settled", "uncertified"]

_TORCH = ("torch-runtime", "torch-multi", "torch-single")
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

    Reductions that run, and what torch does with values that it gave away.
    """
    ops = frame.ops
    found: set[str] = set()
    if np.any(ops.is_kind(*_RUNNING) & (ops.handle >= 0)):
        found |= {"PP501", "PP502"}
    if frame.run.schedule.profile in _TORCH:
        found |= {"PP504", "PP505"}
    return frozenset(found)


def counts(model: Model) -> IntArray:
    """Return the guards that are counts and only look like edges, shape `(n, 2)`."""
    if "credited" not in relations(model.frame.transport, HAPPENS_BEFORE):
        return np.zeros((0, 2), np.int64)
    return model.edges("credited").pairs


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
