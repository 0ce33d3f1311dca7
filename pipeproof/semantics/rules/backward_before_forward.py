"""A backward or recomputation starts before its forward.

It takes what the forward kept, so its forward comes first on its rank.

Why it breaks training: There is nothing to differentiate: a KeyError, or the gradient of
another microbatch.

Source: torch 2.13.0: the last rank of Schedule1F1B.pipeline_order.
"""

from pipeproof.semantics.logic import Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP402",
    name="backward-before-forward",
    axiom=Enforced(Rel("passes")),
    message="{op} starts before the forward of its stage and microbatch",
    doc=__doc__,
)
