"""Transports: what is assumed about when messages move, and their names."""

from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "DEFAULT",
    "NAMED",
    "STRICT",
    "Completion",
    "Groups",
    "Match",
    "Queue",
    "Transport",
    "Wait",
    "named",
    "names",
]


class Completion(Enum):
    """When a send completes: with its receive, or alone."""

    RENDEZVOUS = "rendezvous"
    BUFFERED = "buffered"


class Queue(Enum):
    """What completes in posting order."""

    NONE = "none"
    EDGE = "edge"
    DIRECTION = "direction"
    PAIR = "pair"
    RANK = "rank"


class Groups(Enum):
    """Whether the members of a bracket move on their own or as a whole."""

    INDEPENDENT = "independent"
    ATOMIC = "atomic"


class Wait(Enum):
    """When a message without a handle completes for its rank."""

    BLOCKING = "blocking"
    AT_USE = "at-use"
    EXPLICIT = "explicit"


class Match(Enum):
    """What pairs a send with a receive: their order, or the value that they name."""

    ORDER = "order"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class Transport:
    """When messages move. `capacity` counts messages of a channel; None is without bound."""

    name: str
    completion: Completion = Completion.RENDEZVOUS
    queue: Queue = Queue.NONE
    groups: Groups = Groups.INDEPENDENT
    wait: Wait = Wait.BLOCKING
    match: Match = Match.ORDER
    capacity: int | None = None
    weak: frozenset[str] = field(default=frozenset())
    lazy: bool = False


def _blocking(name: str, queue: Queue = Queue.NONE) -> Transport:
    return Transport(name, queue=queue)


def _at_use(name: str, queue: Queue, *, buffered: bool = False, lazy: bool = False) -> Transport:
    completion = Completion.BUFFERED if buffered else Completion.RENDEZVOUS
    return Transport(name, completion=completion, queue=queue, wait=Wait.AT_USE, lazy=lazy)


_ALL = (
    _blocking("rendezvous"),
    _blocking("rendezvous-edge", Queue.EDGE),
    _blocking("rendezvous-serial", Queue.PAIR),
    _blocking("rendezvous-rank", Queue.RANK),
    Transport("rendezvous-atomic", groups=Groups.ATOMIC),
    Transport("buffered", completion=Completion.BUFFERED),
    Transport("buffered-1", completion=Completion.BUFFERED, capacity=1),
    _at_use("nccl-lazy", Queue.PAIR),
    _at_use("nccl-eager", Queue.RANK),
    _at_use("nccl-direction", Queue.DIRECTION),
    _at_use("nccl-edge", Queue.EDGE),
    _at_use("gloo", Queue.EDGE, buffered=True),
    _at_use("nccl-first", Queue.PAIR, lazy=True),
    _at_use("nccl-small", Queue.PAIR, buffered=True),
)
NAMED = {transport.name: transport for transport in _ALL}
STRICT = (
    *("rendezvous", "rendezvous-edge", "rendezvous-serial", "rendezvous-rank"),
    *("rendezvous-atomic", "buffered"),
)
DEFAULT = "strict"


def names() -> tuple[str, ...]:
    """Return every name that stands for a transport or for several."""
    return (*NAMED, "strict")


def named(name: str) -> tuple[Transport, ...]:
    """Return the transports that `name` stands for; `strict` stands for six.

    Raises:
        KeyError: no transport has that name.
    """
    if name == "strict":
        return tuple(NAMED[each] for each in STRICT)
    return (NAMED[name],)
