"""A gradient still holds leftovers when it is used.

What another use left in the accumulator is cleared, by ZERO or a backward that assigns, before
the STEP.

Why it breaks training: The step follows a gradient of something else.

Source: NVIDIA/Megatron-LM#4609.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP708",
    name="stale-accumulator",
    axiom=Empty(Rel("stale_accumulators")),
    message="at {op} the gradient of {what}stage {stage} still holds what {left} left there",
    doc=__doc__,
)
