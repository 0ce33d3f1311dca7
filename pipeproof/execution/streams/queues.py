"""Streams without a device: a queue each, and a choice among the heads that need not wait.

Every order that the events leave open can come about: one chosen head after the other happens,
to its end, on real tensors. Numbers are those that memory holds at that moment.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from torch import Tensor

from pipeproof.execution.streams.device import Kernel

__all__ = ["Queues", "seeded"]

_PACES = (1, 1, 4, 16, 64)


class _Item(NamedTuple):
    """What stands in a queue: something to do, an event that is over then, one to wait for."""

    run: Callable[[], None] | None = None
    over: int | None = None
    behind: int | None = None


class Queues:
    """A device of queues. `choose` is asked which of several streams goes on."""

    name = "queues on the CPU"

    def __init__(self, choose: Callable[[Sequence[int]], int]) -> None:
        self._choose = choose
        self._queues: list[deque[_Item]] = []
        self._over: list[bool] = []

    def place(self, numbers: Tensor) -> Tensor:
        """Return a copy of numbers."""
        return numbers.detach().clone()

    def stream(self) -> int:
        """Make a stream."""
        self._queues.append(deque())
        return len(self._queues) - 1

    def launch(self, stream: int, kernel: Kernel) -> None:
        """Give a kernel to a stream."""
        self._queues[stream].append(_Item(run=kernel.run))

    def sleep(self, stream: int, units: int) -> None:
        """Let a stream do nothing for as many of its turns."""
        self._queues[stream].extend(_Item() for _ in range(units))

    def record(self, stream: int) -> int:
        """Return an event that is over once all is that the stream has been given."""
        self._over.append(False)
        self._queues[stream].append(_Item(over=len(self._over) - 1))
        return len(self._over) - 1

    def wait(self, stream: int, event: int) -> None:
        """Let a stream wait for an event before what it is given next."""
        self._queues[stream].append(_Item(behind=event))

    def finish(self) -> None:
        """Let everything happen; what is left when a kernel fails is dropped."""
        try:
            while able := self._able():
                stream = able[0] if len(able) == 1 else self._choose(able)
                self._happen(self._queues[stream].popleft())
            assert not any(self._queues)  # noqa: S101  an event is recorded before it is waited for
        finally:
            for queue in self._queues:
                queue.clear()

    def _able(self) -> list[int]:
        """Return the streams whose next kernel or pause may happen; what is no choice has."""
        goes_on = True
        while goes_on:
            goes_on = False
            for queue in self._queues:
                while queue and self._is_marker(queue[0]):
                    self._happen(queue.popleft())
                    goes_on = True
        return [n for n, queue in enumerate(self._queues) if queue and queue[0].behind is None]

    def _is_marker(self, item: _Item) -> bool:
        return item.over is not None or (item.behind is not None and self._over[item.behind])

    def _happen(self, item: _Item) -> None:
        if item.over is not None:
            self._over[item.over] = True
        elif item.run is not None:
            item.run()


def seeded(seed: int) -> Callable[[Sequence[int]], int]:
    """Return a choice by a seed: any stream may be chosen, some of them more often than others."""
    rng = Random(seed)  # noqa: S311  which order of many
    paces: dict[int, int] = {}

    def choose(able: Sequence[int]) -> int:
        for stream in able:
            paces.setdefault(stream, rng.choice(_PACES))
        return rng.choices(able, [paces[stream] for stream in able])[0]

    return choose
