"""What a relation holds of, in the two shapes that axioms need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeproof.ir.operations import IntArray

__all__ = ["NO_EVENT", "Credit", "Edges", "Finding", "Findings", "Needs", "Spot", "no_edges"]

NO_EVENT = -1


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place: the row of the operation as run (-1 at the end of a program), and its event."""

    event: int
    row: int


@dataclass(frozen=True, slots=True)
class Credit:
    """Credits of a channel, a threshold on a count.

    `drained[n]` waits until at most `capacity - 1` of the messages before it have not `arrived`.
    """

    drained: IntArray
    arrived: IntArray
    capacity: int


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Ordered pairs of events, shape `(n, 2)`: the second waits for the first.

    Ids from `Frame.events` on are gates of this relation, `gates` of them. `never` are events
    that wait for themselves, for ever. `credits` are thresholds.
    """

    pairs: IntArray
    gates: int = 0
    never: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    credits: tuple[Credit, ...] = ()


def no_edges() -> Edges:
    """Return the empty relation."""
    return Edges(np.zeros((0, 2), np.int64))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a relation holds of: its places in program order, and its facts.

    `event` is the event that must never happen, where the axiom is `Never`.
    """

    spots: tuple[Spot, ...]
    facts: Mapping[str, str]
    event: int = NO_EVENT


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a relation holds of, and how many `instances` it was looked for in."""

    instances: int
    found: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """Pairs that must be ordered: `before[k]` (NO_EVENT: it stands nowhere) before `after[k]`.

    `rows[k]` is the operation that needs it and `values[k]` the code of what it needs, or -1;
    `facts(k)` describes the k-th pair.
    """

    before: IntArray
    after: IntArray
    rows: IntArray
    values: IntArray
    what: str = ""
