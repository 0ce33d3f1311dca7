"""Which transports real gloo ranks are a fair witness of, and why not of the others."""

from collections.abc import Mapping

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Completion, Groups, Match, Queue, Transport

__all__ = ["is_buffered", "unfair"]

_QUEUES = {
    Queue.DIRECTION: "gloo keeps no queue of a rank's forward or backward traffic",
    Queue.PAIR: "gloo keeps no queue for both directions of a pair",
    Queue.RANK: "gloo keeps no queue of all that a rank sends",
}
_MOST = 32
_OUTSIDE = {
    Kind.TIE: "sums over tied copies are not run on real ranks",
    Kind.RESTORE: "restarts are not run on real ranks",
}


def is_buffered(transport: Transport) -> bool:
    """Whether a send completes alone, so that the runtime keeps what it has taken."""
    return transport.completion is Completion.BUFFERED


def unfair(run: AsRun, transport: Transport) -> str | None:
    """Return why no run on real ranks can show what happens under a transport, None where one can.

    Gloo pairs messages of a pair of ranks by tag, in the order in which they are posted, without
    a bound on how many are posted; a send waits for its receive. Where a send is to complete
    alone, what it sends is copied when it leaves, and sent in the background.
    """
    if transport.groups is Groups.ATOMIC:
        return "gloo moves the messages of a bracket one by one"
    if transport.capacity is not None:
        return "gloo has no room that a send could wait for"
    if transport.queue in _QUEUES:
        return _QUEUES[transport.queue]
    if transport.queue is Queue.EDGE and transport.match is Match.TAG:
        return "gloo keeps no order among messages with different tags"
    if transport.weak or transport.lazy:
        return "gloo makes all its connections at the start and moves messages at any time"
    return _outside(run)


def _outside(run: AsRun) -> str | None:
    for kind, why in _OUTSIDE.items():
        if bool(run.operations.is_kind(kind).any()):
            return why
    if _waits_for_slots(run):
        return "writers that wait for their slot are not run on real ranks"
    ops = run.operations
    if run.schedule.ranks > _MOST:
        return f"more than {_MOST} ranks are not run as processes"
    if bool((run.is_message & (ops.peer == ops.rank)).any()):
        return "gloo has no messages of a rank to itself"
    members = (said.get("ranks", "") for said in run.operations.attributes.values())
    if any(rank >= run.schedule.ranks for text in members for rank in _numbers(text)):
        return "a collective names a rank that does not exist"
    return None


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.isdigit()]


def _waits_for_slots(run: AsRun) -> bool:
    table = run.schedule.described.get("storage")
    pools = table.values() if isinstance(table, Mapping) else ()
    return any(isinstance(pool, Mapping) and pool.get("guard") == "wait" for pool in pools)
