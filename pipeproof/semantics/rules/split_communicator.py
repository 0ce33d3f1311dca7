"""A send and its receive stand on different communicators.

Both ends of a value between the same two ranks are without a partner, each on a communicator of
its own. Said instead of PP201 and PP105.

Why it breaks training: Each end waits on its communicator for ever.

Source: torch's _batch_p2p sends alone on a pair's communicator and in a batch on the group's
(2.13.0).
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP204",
    name="split-communicator",
    axiom=Empty(Rel("split")),
    message="{value} is sent on {one} and received on {other}",
    doc=__doc__,
)
