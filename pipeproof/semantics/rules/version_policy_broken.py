"""An operation reads another version of the weights than the policy asks for.

The version exists, and it is: under `flush` and `speculative` the one that the update of its
gradient changes, under `2bw` the one before that, under `vertical` the one that the first stage
read for the microbatch.

Why it breaks training: The gradient is valid, but of other weights than the algorithm says, so that
what was shown of the algorithm does not hold of the run.

Source: Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2021.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP602",
    name="version-policy-broken",
    axiom=Empty(Rel("off_policy")),
    message="{why}",
    doc=__doc__,
)
