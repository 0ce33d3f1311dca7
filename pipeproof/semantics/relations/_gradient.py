"""One gradient of a stage: what stands in it, and with which coefficient."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from pipeproof.semantics.relations._asked import ONE

__all__ = ["NOWHERE", "Accumulator", "Held", "Share"]

NOWHERE = -1


class Share(NamedTuple):
    """A contribution that stands in an accumulator, with the coefficient that it has by now.

    `times` counts how often TIEs summed it up.
    """

    stage: int
    microbatch: int
    row: int
    coefficient: Fraction
    times: int = 1


class Held(NamedTuple):
    """An accumulator when it is used, as the `turn`-th time.

    `lost` maps what was cleared to the row that did it, `stale` is the row of leftovers (-1).
    `added` is the last own contribution since the last use (-1). `tied` are the ranks of the
    TIEs since then; `normed` whether a norm over all ranks was taken since it last changed.
    """

    name: str
    turn: int
    shares: tuple[Share, ...]
    lost: Mapping[tuple[int, int], int]
    stale: int
    added: int
    tied: frozenset[int]
    normed: bool


@dataclass(slots=True)
class Accumulator:
    """One gradient on its way through a program."""

    name: str
    turn: int = 0
    shares: list[Share] = field(default_factory=list)
    scales: list[tuple[int, Fraction]] = field(default_factory=list)
    lost: dict[tuple[int, int], int] = field(default_factory=dict)
    stale: int = NOWHERE
    added: int = NOWHERE
    tied: frozenset[int] = frozenset()
    normed: bool = False
    state: str = "not reduced"

    def settled(self) -> list[Share]:
        """Return the shares with every scale applied, each to what stood before it."""
        if not self.scales:
            return self.shares
        factor, scales, found = ONE, list(self.scales), list[Share]()
        for at in range(len(self.shares) - 1, -1, -1):
            while scales and scales[-1][0] > at:
                factor *= scales.pop()[1]
            share = self.shares[at]
            found.append(share._replace(coefficient=share.coefficient * factor))
        return found[::-1]

    def clear(self, row: int) -> None:
        for share in self.shares:
            self.lost[share.stage, share.microbatch] = row
        self.shares, self.scales = [], []
        self.stale, self.normed, self.state = NOWHERE, False, "not reduced"

    def add(self, share: Share, row: int) -> None:
        self.shares.append(share)
        self.added, self.normed, self.tied = row, False, frozenset()

    def held(self) -> Held:
        return Held(
            *(self.name, self.turn, tuple(self.settled()), self.lost, self.stale, self.added),
            *(self.tied, self.normed),
        )

    def take(self) -> Held:
        """Return what is held and leave nothing."""
        held = self.held()
        self.shares, self.scales, self.lost = [], [], {}
        self.stale, self.added, self.tied = NOWHERE, NOWHERE, frozenset()
        self.normed, self.state = False, "not reduced"
        return held

    def give_back(self, held: Held) -> None:
        """Put back what a withdrawn STEP took, before what came since."""
        self.shares, self.scales = [*held.shares, *self.settled()], []
        self.lost = {**held.lost, **self.lost}
        self.stale = max(held.stale, self.stale)
        if self.added < 0:
            self.added, self.tied, self.normed = held.added, held.tied | self.tied, held.normed
