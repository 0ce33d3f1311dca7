"""More is live on a rank than its bound allows.

`bounds.live` counts forwards whose backward has not ended, and buffers held; `bounds.memory` the
bytes of `sizes`. What counts is the most that any interleaving holds.

Why it breaks training: The rank runs out of memory, in the interleaving in which a peer is late,
so on some days and not on others.

Source: torch 2.13.0 and Megatron-core say what a schedule holds only for lock step.
"""

from pipeproof.semantics.logic import All, AtMost, Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP506",
    name="live-bound-exceeded",
    axiom=All((Empty(Rel("overfull")), AtMost(Rel("memory")))),
    message="{op} {why}",
    doc=__doc__,
)
