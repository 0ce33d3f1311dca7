"""A device with streams: what one stream is given happens in turn, different ones wait for events.

Everything is handed over at once and happens later. An event is recorded behind what its stream
was given before, and is over when all of that is; a stream that waits for it goes on then.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from torch import Tensor

__all__ = ["Device", "Kernel"]


class Kernel(NamedTuple):
    """Something that a stream is given: what it does, and the memory that it reads and writes."""

    name: str
    run: Callable[[], None]
    reads: tuple[Tensor, ...] = ()
    writes: tuple[Tensor, ...] = ()


class Device(Protocol):
    """A device: its streams and events are numbers."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    def place(self, numbers: Tensor) -> Tensor:
        """Return a copy of numbers in the memory of the device."""
        ...

    def stream(self) -> int:
        """Make a stream.

        Raises:
            UnsupportedFeatureError: the device has no more of them.
        """
        ...

    def hold(self, launches: int) -> None:
        """Let no stream begin before it has been given about as many launches.

        What is handed over slowly would else come one after the other, whatever the events say.
        """
        ...

    def launch(self, stream: int, kernel: Kernel) -> None:
        """Give a kernel to a stream."""
        ...

    def sleep(self, stream: int, units: int) -> None:
        """Let a stream do nothing for a while."""
        ...

    def record(self, stream: int) -> int:
        """Return an event that is over once all is that the stream has been given."""
        ...

    def wait(self, stream: int, event: int) -> None:
        """Let a stream wait for an event before what it is given next."""
        ...

    def finish(self) -> None:
        """Wait until everything has happened."""
        ...
