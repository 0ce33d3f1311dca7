"""What a relation holds of, in the two shapes that axioms need."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray, read_only

__all__ = [
    "NO_EVENT",
    "Credit",
    "Edges",
    "Finding",
    "Findings",
    "Holds",
    "Needs",
    "Spot",
    "no_edges",
    "once_a_place",
]

NO_EVENT = -1
NOTHING = read_only(())


class Spot(NamedTuple):
    """A place: the row of the operation as run (-1 at the end of a program), and its event."""

    event: int
    row: int


class Credit(NamedTuple):
    """Credits of a channel, a threshold on a count.

    `drained[n]` waits until at most `capacity - 1` of the messages before it have not `arrived`.
    """

    drained: IntArray
    arrived: IntArray
    capacity: int


class Edges(NamedTuple):
    """Ordered pairs of events, shape `(n, 2)`: the second waits for the first.

    Ids from `Frame.events` on are gates of this relation, `gates` of them. `never` are events
    that wait for themselves, for ever. `credits` are thresholds.
    """

    pairs: IntArray
    gates: int = 0
    never: IntArray = NOTHING
    credits: tuple[Credit, ...] = ()


def no_edges() -> Edges:
    """Return the empty relation."""
    return Edges(np.zeros((0, 2), np.int64))


class Finding(NamedTuple):
    """One thing that a relation holds of: its places in program order, and its facts.

    `event` is the event that must never happen, where the axiom is `Never`. `before` is the event
    that must come first, where the axiom is `Enforced` and an engine names it (NO_EVENT: it stands
    nowhere). Where the axiom is `NotAfter`, `event` must not happen after `before` (NO_EVENT: not
    at all).
    """

    spots: tuple[Spot, ...]
    facts: Mapping[str, str]
    event: int = NO_EVENT
    before: int | None = None


def once_a_place(found: Iterable[Finding]) -> list[Finding]:
    """Return findings without those whose places another one before them has."""
    first: dict[tuple[Spot, ...], Finding] = {}
    for each in found:
        first.setdefault(each.spots, each)
    return list(first.values())


class Findings(NamedTuple):
    """All that a relation holds of, and how many `instances` it was looked for in."""

    instances: int
    found: Sequence[Finding] = ()


class Holds(NamedTuple):
    """What is live from an event of a rank's program until other events have all happened.

    Hold k is of `kinds[kind[k]]`, starts with the operation `rows[k]` (-1: with its rank) and
    weighs `weight[k]`, in units of which `unit` make a byte; all of shape `(holds,)`. Event
    `ends[j]` is one of those after which hold `of[j]` is over; a hold without any is live to the
    end. `bound` is what a rank may hold at once, None for no bound.
    """

    kinds: tuple[str, ...]
    rank: IntArray
    start: IntArray
    rows: IntArray
    kind: IntArray
    weight: npt.NDArray[np.object_]
    ends: IntArray
    of: IntArray
    bound: int | None = None
    unit: int = 1


class Needs(NamedTuple):
    """Pairs that must be ordered: `before[k]` (NO_EVENT: it stands nowhere) before `after[k]`.

    `rows[k]` is the operation that needs it and `values[k]` the code of what it needs, or -1.
    `others`, where it is given, holds the rows of the operations that must come before, -1 for
    none, and `why(k)` says what is wrong where the k-th pair is not ordered: facts name them.
    With `once`, an operation with several pairs that are not ordered is told for the first.
    """

    before: IntArray
    after: IntArray
    rows: IntArray
    values: IntArray
    others: IntArray | None = None
    why: Callable[[int], str] | None = None
    once: bool = False
