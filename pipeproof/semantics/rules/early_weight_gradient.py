"""A weight gradient starts before its input gradient.

W uses what I left: the gradients with respect to the layers' outputs.

Why it breaks training: It multiplies with what was there before.

Source: sail-sg/zero-bubble-pipeline-parallelism#72; torch's simulator says W is always ready.
"""

from pipeproof.semantics.logic import Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP404",
    name="early-weight-gradient",
    axiom=Enforced(Rel("halves")),
    message="{op} starts before the input gradient of its stage and microbatch",
    doc=__doc__,
)
