"""The two ends of a message differ in shape, dtype or layout.

Judged where both ends give the attribute.

Why it breaks training: A larger receive gets part of its data or waits for ever; another dtype
is read as noise.

Source: pytorch/pytorch#113376, pytorch/pytorch#126600.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP203",
    name="shape-mismatch",
    axiom=Empty(Rel("misshapen")),
    message="the two ends differ in {what}: sent {sent}, received {wanted}",
    doc=__doc__,
)
