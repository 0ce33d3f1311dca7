"""Copies of one parameter are used without the sum of their gradients.

Stages that are `tied`, and stages at one place of two pipelines, sum up their gradients by a TIE
after the last contribution and before the STEP, all in the same reduction state.

Why it breaks training: The copies drift apart and are one parameter no longer.

Source: NVIDIA/Megatron-LM#844: copies are combined while different shards of them are valid.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP707",
    name="untied-parameter",
    axiom=Empty(Rel("untied_parameters")),
    message="{why}",
    doc=__doc__,
)
