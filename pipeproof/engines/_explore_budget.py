"""How far the explorer may go, and how far it has gone."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Budget", "Progress", "Spent"]

Progress = Callable[[int, int], None]
"""Told the number of states so far, and the layer that is being explored."""

_GIB = 1 << 30
_LOOK = 1024  # steps between two looks at the clock


@dataclass(frozen=True, slots=True)
class Budget:
    """What an exploration may take: states, seconds, and bytes of states held at once."""

    states: int = 50_000_000
    seconds: float = 600.0
    memory: int = 2 * _GIB


@dataclass(slots=True)
class Spent:
    """What an exploration has taken of its budget; `over` says what ran out first."""

    budget: Budget
    progress: Progress | None = None
    states: int = 0
    over: str = ""
    _began: float = field(default_factory=time.monotonic)
    _next: int = 0

    def allows(self, states: int = 0, *, held: int = 0) -> bool:
        """Count `states` more and `held` bytes, and return whether the budget still lasts."""
        self.states += states
        if self.over:
            return False
        if self.states >= self._next:
            self._next = self.states + _LOOK
            self._look()
        if self.states > self.budget.states:
            self.over = f"the budget of {self.budget.states} states"
        elif held > self.budget.memory:
            self.over = f"the budget of {self.budget.memory} bytes"
        return not self.over

    def tell(self, layer: int) -> None:
        """Tell who watches how far it is."""
        if self.progress is not None:
            self.progress(self.states, layer)

    def _look(self) -> None:
        if time.monotonic() - self._began > self.budget.seconds:
            self.over = f"the budget of {self.budget.seconds:g} s"
