"""Torch's stream sanitizer as one more oracle: fed with what a run gives to its streams.

It needs no GPU. It knows memory by where it begins, looks at each access when it is handed over,
and keeps of the accesses before only the last write and the reads since.

Source: torch 2.13.0, torch/cuda/_sanitizer.py, `EventHandler`: private, and meant for CUDA only.
"""

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.streams.device import Device, Kernel

if TYPE_CHECKING:
    from torch.cuda._sanitizer import EventHandler, UnsynchronizedAccessError

__all__ = ["Race", "Sanitized"]

_CALLS = (
    "_handle_kernel_launch",
    "_handle_stream_creation",
    "_handle_event_creation",
    "_handle_event_record",
    "_handle_event_wait",
    "_handle_device_synchronization",
)


class Race(NamedTuple):
    """Two accesses to one memory that no event orders: where it begins, and both by name."""

    memory: int
    kernel: str
    before: str


def _parts() -> "tuple[EventHandler, type[UnsynchronizedAccessError]]":
    try:
        from torch.cuda._sanitizer import (  # noqa: PLC0415  private, may be gone
            EventHandler,
            UnsynchronizedAccessError,
        )
    except ImportError as error:
        message = f"this torch has no stream sanitizer that can be asked: {error}"
        raise UnsupportedFeatureError(message) from error
    missing = [name for name in _CALLS if not hasattr(EventHandler, name)]
    if missing:
        message = f"the stream sanitizer of this torch has no {', '.join(missing)}"
        raise UnsupportedFeatureError(message)
    return EventHandler(), UnsynchronizedAccessError


class Sanitized:
    """A device that is watched: `races` holds what the sanitizer found so far."""

    def __init__(self, device: Device) -> None:
        """Watch a device that has no streams yet.

        Raises:
            UnsupportedFeatureError: this torch has no sanitizer, or another one.
        """
        self._device = device
        self._handler, self._error = _parts()
        self.races: list[Race] = []

    @property
    def name(self) -> str:
        """What the device is."""
        return f"{self._device.name}, sanitized"

    def place(self, numbers: Tensor) -> Tensor:
        """Return a copy of numbers in the memory of the device."""
        return self._device.place(numbers)

    def stream(self) -> int:
        """Make a stream."""
        stream = self._device.stream()
        self._handler._handle_stream_creation(_number(stream))  # noqa: SLF001  it has no other way
        return stream

    def hold(self, launches: int) -> None:
        """Let no stream begin before it has been given about as many launches."""
        self._device.hold(launches)

    def launch(self, stream: int, kernel: Kernel) -> None:
        """Give a kernel to a stream, and ask whether its accesses are ordered."""
        reads, writes = _begins(kernel.reads), _begins(kernel.writes)
        found = self._handler._handle_kernel_launch(  # noqa: SLF001  as above
            _number(stream),
            reads - writes,
            writes,
            set(),
            kernel.name,
            {n: [] for n in reads | writes},
        )
        for each in found:
            assert isinstance(each, self._error)  # noqa: S101  it finds nothing else
            both = each.current_access.operator, each.previous_access.operator
            self.races.append(Race(each.data_ptr, *both))
        self._device.launch(stream, kernel)

    def sleep(self, stream: int, units: int) -> None:
        """Let a stream do nothing for a while."""
        self._device.sleep(stream, units)

    def record(self, stream: int) -> int:
        """Return an event that is over once all is that the stream has been given."""
        event = self._device.record(stream)
        self._handler._handle_event_creation(event)  # noqa: SLF001  as above
        self._handler._handle_event_record(event, _number(stream))  # noqa: SLF001  as above
        return event

    def wait(self, stream: int, event: int) -> None:
        """Let a stream wait for an event before what it is given next."""
        self._handler._handle_event_wait(event, _number(stream))  # noqa: SLF001  as above
        self._device.wait(stream, event)

    def finish(self) -> None:
        """Wait until everything has happened."""
        self._device.finish()
        self._handler._handle_device_synchronization()  # noqa: SLF001  as above


def _number(stream: int) -> int:
    """Return a stream's number for the sanitizer, which has a stream 0 of its own."""
    return stream + 1


def _begins(memory: tuple[Tensor, ...]) -> set[int]:
    return {each.data_ptr() for each in memory}
