"""How far the explorer may go, and how far it has gone."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["BY_THE_CLOCK", "Budget", "Progress", "Spent", "Stopped"]

Progress = Callable[[int, int], None]
"""Told the number of states so far, and the layer that is being explored."""

Stopped = Callable[[], bool]
"""Asked now and then whether somebody has stopped the exploration."""

BY_THE_CLOCK = "by the clock: another run may go further"
_GIB = 1 << 30
_LOOK = 1024  # steps between two looks at the clock
_TRIALS = 2_000_000  # steps of trial runs that any budget of states has


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Budget:
    """What an exploration may take: states, seconds, and bytes of states held at once.

    Where nobody asks for it no clock ends an exploration, so that a slow machine changes no
    verdict. It also ends where `stopped` says so.
    """

    states: int = 50_000_000
    seconds: float = float("inf")
    memory: int = 2 * _GIB
    stopped: Stopped = _never


@dataclass(slots=True)
class Spent:
    """What an exploration has taken of its budget; `over` says what ran out first.

    `earlier` are the states of the runs that it goes on from, which no longer count. What is
    asked once an exploration is over, so that it is not `exploring`, costs time and no states.
    """

    budget: Budget
    progress: Progress | None = None
    states: int = 0
    over: str = ""
    earlier: int = 0
    exploring: bool = True
    _trials: int = 0
    _layer: int = 0
    _began: float = field(default_factory=time.monotonic)
    _next: int = 0

    @property
    def total(self) -> int:
        """The states of this run and of those that it goes on from."""
        return self.earlier + self.states

    def allows(self, states: int = 0, *, held: int = 0) -> bool:
        """Count `states` more and `held` bytes, and return whether the budget still lasts."""
        if self.over:
            return False
        if not self.exploring:
            self._look()
            return not self.over
        self.states += states
        if self.states >= self._next:
            if self._next:
                self.tell(self._layer)
            self._next = self.states + _LOOK
            self._look()
        if self.states > self.budget.states:
            self.over = f"the budget of {self.budget.states} states"
        elif held > self.budget.memory:
            self.over = f"the budget of {self.budget.memory} bytes"
        return not self.over

    def allows_trial(self, steps: int) -> bool:
        """Count a trial run, none of the exploration, and return whether there may be more."""
        self._trials += steps
        self._look()
        return not self.over and self._trials <= max(self.budget.states, _TRIALS)

    def tell(self, layer: int) -> None:
        """Tell who watches how far it is."""
        self._layer = layer
        if self.progress is not None:
            self.progress(self.total, layer)

    def _look(self) -> None:
        if time.monotonic() - self._began > self.budget.seconds:
            self.over = f"the time limit of {self.budget.seconds:g} s ({BY_THE_CLOCK})"
        elif self.budget.stopped():
            self.over = "an interrupt"
