"""What ranks send each other while they watch for faults, and what they know of what they sent."""

import copyreg
import io
import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple, Protocol

from torch import Tensor

from pipeproof.execution.faults.findings import Finding, Place
from pipeproof.execution.faults.localise import Entry

__all__ = ["Body", "Data", "Packet", "Status", "Wire", "packed", "unpacked"]


class Data(NamedTuple):
    """A message of the schedule: its numbers, and what its sender says that they are."""

    value: int
    digest: str
    numbers: Tensor


class Status(NamedTuple):
    """What a rank answers when it is asked for a message.

    `doing` is the operation in which it is and `seconds` for how long; `waits` says that it waits
    for a message itself. `sent` is how often it has sent the message, with `value`, `shape` and
    `digest` as it has them in its records.
    """

    doing: Place | None
    seconds: float
    waits: bool
    sent: int
    value: int = -1
    shape: tuple[int, ...] = ()
    digest: str = ""


Body = (
    Data | Status | Place | tuple[Finding, ...] | tuple[str, ...] | tuple[Entry, ...] | int | None
)


class Packet(NamedTuple):
    """What travels: `what` it is, the attempt that it belongs to, a number and its content."""

    what: str
    sender: int
    attempt: int = 0
    number: int = 0
    body: Body = None


class Wire(Protocol):
    """What carries packets between ranks, and tells the time."""

    def send(self, to: int, packet: Packet, delay: float = 0.0) -> None:
        """Send a packet, later if asked to; never wait."""

    def now(self) -> float:
        """Return the time in seconds."""


_Reduced = tuple[Callable[[dict[object, object]], object], tuple[dict[object, object]]]


def _read_only(value: dict[object, object]) -> object:
    return MappingProxyType(value)


def _mapping(value: MappingProxyType[object, object]) -> _Reduced:
    return _read_only, (dict(value),)


class _Pickler(pickle.Pickler):
    """Pickles read-only mappings too."""

    dispatch_table = {**copyreg.dispatch_table, MappingProxyType: _mapping}  # noqa: RUF012


def packed(value: object) -> bytes:
    """Return an object as bytes."""
    file = io.BytesIO()
    _Pickler(file).dump(value)
    return file.getvalue()


def unpacked(said: bytes) -> object:
    """Return the object that bytes of another rank of the same run stand for."""
    return pickle.loads(said)  # noqa: S301  our own ranks
