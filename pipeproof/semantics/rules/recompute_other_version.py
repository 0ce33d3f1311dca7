"""A recomputation reads another version of the weights than its forward did.

R reads the version that the forward of its stage and microbatch read.

Why it breaks training: What is recomputed is not what the forward kept: the backward takes its
derivatives at activations that never were, and the gradient is that of no function at any weights.

Source: Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2021.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP802",
    name="recompute-other-version",
    axiom=Empty(Rel("other_recomputations")),
    message="invalid recomputation: {why}",
    doc=__doc__,
)
