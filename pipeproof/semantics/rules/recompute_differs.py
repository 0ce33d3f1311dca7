"""A recomputation does not repeat what its forward did.

Its random state, or another state that the forward ran under, is another one; or a register that
microbatches hand on is taken out of turn, or updated a second time.

Why it breaks training: The backward differentiates a function that the forward did not compute,
and running statistics depend on the schedule.

Source: openai/guided-diffusion#167, pytorch/pytorch#96136.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP801",
    name="recompute-differs",
    axiom=Empty(Rel("recomputed_otherwise")),
    message="{op} {why}",
    doc=__doc__,
)
