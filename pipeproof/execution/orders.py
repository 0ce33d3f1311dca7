"""Orders in which the events of a schedule may happen: any one, seeded, or as late as may be."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pipeproof.errors import ReplayMismatchError

__all__ = ["Credits", "Events", "Guards", "Style", "extended"]

_Ints = npt.NDArray[np.int64]


class Credits(Protocol):
    """`drained[n]` waits until fewer than `capacity` messages before it have not `arrived`."""

    @property
    def drained(self) -> _Ints: ...
    @property
    def arrived(self) -> _Ints: ...
    @property
    def capacity(self) -> int: ...


class Guards(Protocol):
    """What each event waits for: `after[k]` for `before[k]`; `never` for itself.

    Events stand below any gates that have been added behind them. `held` marks messages that move
    only when nothing else can happen.
    """

    @property
    def size(self) -> int: ...
    @property
    def before(self) -> _Ints: ...
    @property
    def after(self) -> _Ints: ...
    @property
    def never(self) -> npt.NDArray[np.bool_]: ...
    @property
    def credits(self) -> Sequence[Credits]: ...
    @property
    def held(self) -> npt.NDArray[np.bool_]: ...


class Style(Enum):
    """Which of the events that can happen happens next: any, the latest messages, the first."""

    ANY = "any"
    MESSAGES_LATE = "messages late"
    MESSAGES_EARLY = "messages early"


class Events(NamedTuple):
    """How many events there are, and the first of them that is of a message."""

    number: int
    moving: int


def extended(
    guards: Guards,
    events: Events,
    begun: Iterable[int] = (),
    *,
    style: Style = Style.ANY,
    seed: int = 0,
) -> tuple[int, ...]:
    """Return what may happen after `begun`, until nothing more can.

    Args:
        guards: what each event waits for, gates included.
        events: which of them are events.
        begun: what has happened, in an order in which it may.
        style: what is preferred.
        seed: which order of many.

    Raises:
        ReplayMismatchError: what is said to have begun cannot happen in that order.
    """
    rng = Random(seed)  # noqa: S311  which order of many
    extension = _Extension(guards, events.number, _rank(style, rng, events.moving))
    extension.begin(begun)
    return extension.run()


def _rank(style: Style, rng: Random, moving: int) -> Callable[[int], tuple[int, float]]:
    match style:
        case Style.ANY:
            return lambda event: (0, rng.random())
        case Style.MESSAGES_LATE:
            return lambda event: (int(event >= moving), rng.random())
        case Style.MESSAGES_EARLY:
            return lambda event: (int(event < moving), rng.random())


class _Extension:
    def __init__(
        self,
        guards: Guards,
        events: int,
        rank: Callable[[int], tuple[int, float]],
    ) -> None:
        self.guards, self.events, self.rank = guards, events, rank
        self.waits = np.bincount(guards.after, minlength=guards.size)
        order = np.argsort(guards.before, kind="stable")
        self.then = guards.after[order]
        self.first = np.searchsorted(guards.before[order], np.arange(guards.size + 1))
        self.happened = np.zeros(guards.size, np.bool_)
        self.able: list[tuple[tuple[bool, int, float], int]] = []
        self.short: list[int] = []
        self.places = {
            int(event): (credit, n)
            for credit in guards.credits
            for n, event in enumerate(credit.drained)
        }
        for event in np.flatnonzero(self.waits == 0).tolist():
            self._offer(event)

    def _offer(self, event: int) -> None:
        if not self.guards.never[event]:
            if event >= self.events:
                self._happen(event)
            else:
                heappush(self.able, ((bool(self.guards.held[event]), *self.rank(event)), event))

    def _happen(self, event: int) -> None:
        ready = [event]
        while ready:
            now = ready.pop()
            if self.happened[now]:
                continue
            self.happened[now] = True
            for after in self.then[self.first[now] : self.first[now + 1]].tolist():
                self.waits[after] -= 1
                if self.waits[after] == 0 and not self.guards.never[after]:
                    if after >= self.events:
                        ready.append(after)
                    else:
                        self._offer(after)

    def begin(self, begun: Iterable[int]) -> None:
        """Let events happen in the order in which they are said to."""
        for event in begun:
            if not (0 <= event < self.events and self._may_happen(event)):
                message = f"event {event} cannot happen where the execution says that it does"
                raise ReplayMismatchError(message)
            self._happen(event)

    def _may_happen(self, event: int) -> bool:
        waits = bool(self.waits[event]) or bool(self.guards.never[event])
        return not (waits or self.happened[event] or self._lacks_credit(event))

    def run(self) -> tuple[int, ...]:
        order: list[int] = []
        while self.able:
            _, event = heappop(self.able)
            if self.happened[event]:
                continue
            if self._lacks_credit(event):
                self.short.append(event)
                continue
            order.append(event)
            self._happen(event)
            if self.short:
                again, self.short = self.short, []
                for each in again:
                    heappush(self.able, ((bool(self.guards.held[each]), *self.rank(each)), each))
        return tuple(order)

    def _lacks_credit(self, event: int) -> bool:
        if event not in self.places:
            return False
        credit, n = self.places[event]
        waiting = int(np.count_nonzero(~self.happened[credit.arrived[:n]]))
        return waiting >= credit.capacity
