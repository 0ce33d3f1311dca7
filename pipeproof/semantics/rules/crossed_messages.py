"""A receive gets another value than it names.

Nothing in a message steers its pairing: torch gives tag 0 to all under gloo, and NCCL has no
tags. The order of the receives must be the order of the sends.

Why it breaks training: Shapes agree, so nothing fails: training goes on with the wrong
activation or gradient.

Source: pytorch/pytorch#94819; torch 2.13.0 with defer_pp_recv.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP202",
    name="crossed-messages",
    axiom=Empty(Rel("crossed")),
    message=(
        "rank {destination} receives {sent} where it asks for {wanted}: messages from "
        "rank {source} pair in posting order"
    ),
    doc=__doc__,
)
