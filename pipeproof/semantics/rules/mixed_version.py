"""A stage uses two versions of its weights for one microbatch.

What a stage does for one microbatch, its forward (all parts of it), backward, input and weight
gradient, reads one version of the weights; a cached copy is filled before it is read. Under the
policy `latest` versions may differ.

Why it breaks training: The result is the gradient of no function at any weights that existed: the
chain rule multiplies derivatives taken at different points. That what the forward kept is intact
does not help, for the backward multiplies it with weights that have moved.

Source: msr-fiddle/pipedream#62, NVIDIA/Megatron-LM#950, NVIDIA/TransformerEngine#539.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP601",
    name="mixed-version",
    axiom=Empty(Rel("mixed")),
    message="invalid mixed-version derivative: {why}",
    doc=__doc__,
)
