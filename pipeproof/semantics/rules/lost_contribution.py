"""A microbatch is absent from the gradient that a step uses.

Its backward stands nowhere, or what it added was cleared or overwritten before the STEP.

Why it breaks training: The step learns from fewer microbatches than it claims; nothing fails.

Source: NVIDIA-NeMo/Automodel#3530: new buffers between microbatches drop what was accumulated.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP701",
    name="lost-contribution",
    axiom=Empty(Rel("lost_contributions")),
    message="at {op} the gradient of stage {stage} lacks {lost}",
    doc=__doc__,
)
