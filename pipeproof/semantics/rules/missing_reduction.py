"""A gradient is used without having been reduced.

`reduce: required` asks for one reduction before the step; by default, where one stage has one,
all need it.

Why it breaks training: Replicas step with their own gradients and drift apart.

Source: pytorch/pytorch#134052.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP705",
    name="missing-reduction",
    axiom=Empty(Rel("unreduced")),
    message="at {op} the gradient of {what}stage {stage} has not been reduced",
    doc=__doc__,
)
