"""A gradient is reduced before its last contribution.

What is added after the reduction stays on its replica.

Why it breaks training: Replicas drift apart, each with a part of its own gradient.

Source: torch 2.13.0 accepts REDUCE_GRAD anywhere; pytorch/pytorch#144530.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP704",
    name="early-reduction",
    axiom=Empty(Rel("early_reductions")),
    message="{op} comes before {late}, which adds to the same gradient",
    doc=__doc__,
)
