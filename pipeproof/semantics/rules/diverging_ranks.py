"""Ranks do different things where they must do the same.

All stages take an optimizer step or all leave it out, and all commit it or withdraw it; a
microbatch is the same sample everywhere. Where a fault strikes, all keep to one policy.

Why it breaks training: Stages whose weights are of different steps compute a gradient of no
model.

Source: A loss scaler that finds an infinity on one stage only; NVIDIA/apex#1500.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP106",
    name="diverging-ranks",
    axiom=Empty(Rel("diverging")),
    message="{why}",
    doc=__doc__,
)
