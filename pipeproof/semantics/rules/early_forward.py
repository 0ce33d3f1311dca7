"""A forward starts before its input is there.

It reads the activation of the stage before it, handed over on its rank or received; a loss
reads its activation and label; a segment the forward of the segment before it.

Why it breaks training: It reads what the storage held before.

Source: pytorch/pytorch#132644.
"""

from pipeproof.semantics.logic import Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP401",
    name="early-forward",
    axiom=Enforced(Rel("forwards")),
    message="{op} starts before its input {value} is there",
    doc=__doc__,
)
