"""A backward starts before the gradient it propagates is there.

It reads the gradient of the stage after it, handed over or received; the last stage reads the
loss where that is an operation; a segment the backward of the segment after it.

Why it breaks training: It propagates what the storage held before.

Source: torch's simulator says `last stage -> return True`.
"""

from pipeproof.semantics.logic import Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP403",
    name="early-backward",
    axiom=Enforced(Rel("gradients")),
    message="{op} starts before {value} is there",
    doc=__doc__,
)
