"""A microbatch enters the gradient that a step uses more than once.

Parts are no repetition: B or W with different `param`, or each with `c`.

Why it breaks training: The microbatch weighs twice as much as the others, and losses look fine.

Source: pytorch/pytorch#180952, pytorch/pytorch#181365: a weight gradient is added twice.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP702",
    name="repeated-contribution",
    axiom=Empty(Rel("repeated_contributions")),
    message="at {op} the gradient of stage {stage} counts more than once {repeated}",
    doc=__doc__,
)
