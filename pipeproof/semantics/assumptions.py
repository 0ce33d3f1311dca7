"""Everything that is assumed of a runtime: which pairs of events it orders.

Read this file to know what a verdict rests on. Each name is a relation of
`semantics/relations/`; the ids are those of the register in `docs/trust.md`.

Always:
  program       an instruction starts once the one before it has ended             A14
  issue         an instruction ends after it started
  transferred   posted, then drained, then arrived
  waited        what waits for a message ends (or starts) after it is complete
  signalled     an AWAIT ends after its SIGNAL started
  guarded       a writer waits for its slot, where the pool says `guard: wait`
  readiness     a rank with `order: ready` picks what has all that it needs
  collective    nobody leaves before all have entered (what kind orders, for order) A7
With rendezvous:
  met           both ends are posted before anything moves                         A5
With a queue:
  queued        what is queued completes in posting order                          A3
With a capacity:
  credited      a send waits for room in its channel; a threshold, not an edge     A5
With atomic groups:
  grouped       brackets that are linked by messages move together; it keeps queues too
With lazily created communicators:
  entered       a rank's first call with another returns after the other's has started
"""

from pipeproof.ir.transport import Completion, Groups, Queue, Transport, Wait
from pipeproof.semantics.logic import Order

__all__ = ["ALWAYS", "assumed", "relations"]

ALWAYS = ("program", "issue", "transferred", "waited", "signalled", "guarded", "readiness")


def relations(transport: Transport, order: Order) -> tuple[str, ...]:
    """Return the relations whose union is `order` under `transport`."""
    chosen = [*ALWAYS]
    chosen.append("collective" if order.purpose == "progress" else "collective_order")
    if transport.groups is Groups.ATOMIC:
        chosen.append("grouped")
    elif transport.completion is Completion.RENDEZVOUS:
        chosen.append("met")
    elif transport.capacity is not None:
        chosen.append("credited")
    if transport.queue is not Queue.NONE and transport.groups is not Groups.ATOMIC:
        chosen.append("queued")
    if transport.lazy:
        chosen.append("entered")
    return tuple(chosen)


def assumed(transport: Transport, *, messages: bool, collectives: bool) -> tuple[str, ...]:
    """Return the ids of the assumptions that a verdict under `transport` rests on."""
    ids = {"A1", "A8", "A10", "A11", "A14"}
    if messages:
        ids |= {"A2", "A5", "A9"}
        if transport.wait is Wait.AT_USE:
            ids |= {"A3", "A4"}
        if not transport.lazy:
            ids.add("A6")
    if collectives:
        ids |= {"A3", "A7"}
    return tuple(sorted(ids, key=lambda each: int(each[1:])))
