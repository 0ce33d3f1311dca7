"""Weights are updated before the last contribution to their gradient.

All contributions of a stage to a step stand before its STEP. Where a fault strikes, no STEP
completes after it that should not.

Why it breaks training: The step leaves a microbatch out, and the next one counts it with other
weights.

Source: pytorch/torchtitan#793.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP706",
    name="early-update",
    axiom=Empty(Rel("early_updates")),
    message="{op} comes before {late}, which adds to the same step's gradient",
    doc=__doc__,
)
