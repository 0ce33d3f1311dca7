"""A channel has more sends than receives, or fewer.

Counted for each directed pair of ranks and communicator. It stands beside PP201, which names
the messages that are left over.

Why it breaks training: Messages pair in order, so one too many shifts all that follow it.

Source: pytorch/pytorch#108378.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP105",
    name="unbalanced-transfers",
    axiom=Empty(Rel("unbalanced")),
    message=(
        "rank {source} sends {sent} messages to rank {destination}{comm}, which receives {received}"
    ),
    doc=__doc__,
)
