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
    """What stands in a queue: something to do, a pause, an event to be over or to wait for."""

    run: Callable[[], None] | None = None
    pause: int = 0
    over: int | None = None
    behind: int | None = None


class Queues:
    """A device of queues. `choose` is asked which of several streams goes on."""

    name = "queues on the CPU"

    def __init__(self, choose: Callable[[Sequence[int]], int]) -> None:
        self._choose = choose
        self._queues: list[deque[_Item]] = []
        self._over: list[bool] = []
        self._until: list[int] = []
        self._now = 0

    def place(self, numbers: Tensor) -> Tensor:
        """Return a copy of numbers."""
        return numbers.detach().clone()

    def stream(self) -> int:
        """Make a stream."""
        self._queues.append(deque())
        self._until.append(0)
        return len(self._queues) - 1

    def hold(self, launches: int) -> None:
        """Let no stream begin: none does before all is finished."""

    def launch(self, stream: int, kernel: Kernel) -> None:
        """Give a kernel to a stream."""
        self._queues[stream].append(_Item(run=kernel.run))

    def sleep(self, stream: int, units: int) -> None:
        """Let a stream do nothing while others do as many things, as long as there are any."""
        self._queues[stream].append(_Item(pause=units))

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
                run = self._queues[stream].popleft().run
                self._now += 1
                assert run is not None  # noqa: S101  such a stream is not able
                run()
            assert not any(self._queues)  # noqa: S101  an event is recorded before it is waited for
        finally:
            for queue in self._queues:
                queue.clear()

    def _able(self) -> list[int]:
        """Return the streams whose next kernel may happen; what is no choice has."""
        streams = range(len(self._queues))
        while True:
            while any(self._passes(stream) for stream in streams):
                continue
            heads = [(n, self._queues[n][0]) for n in streams if self._queues[n]]
            able = [n for n, item in heads if item.run and self._until[n] <= self._now]
            pausing = [self._until[n] for n, _ in heads if self._until[n] > self._now]
            if able or not pausing:
                return able
            self._now = min(pausing)

    def _passes(self, stream: int) -> bool:
        """Pass by what is no kernel at the head of a queue; return whether anything was."""
        queue, passed = self._queues[stream], False
        while queue and queue[0].run is None and self._until[stream] <= self._now:
            item = queue[0]
            if item.behind is not None and not self._over[item.behind]:
                break
            queue.popleft()
            if item.over is not None:
                self._over[item.over] = True
            self._until[stream] = max(self._until[stream], self._now + item.pause)
            passed = True
        return passed


def seeded(seed: int) -> Callable[[Sequence[int]], int]:
    """Return a choice by a seed: any stream may be chosen, some of them more often than others."""
    rng = Random(seed)  # noqa: S311  which order of many
    paces: dict[int, int] = {}

    def choose(able: Sequence[int]) -> int:
        for stream in able:
            paces.setdefault(stream, rng.choice(_PACES))
        return rng.choices(able, [paces[stream] for stream in able])[0]

    return choose
