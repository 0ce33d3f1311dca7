"""A version of the weights is overwritten while it is still to be read.

With `storage.weights.slots` k (2 under `2bw`) the STEP that makes the version k later than another
comes after the last forward, backward, weight gradient and recomputation that read that one.

Why it breaks training: The later reader finds newer weights in the place of the version that it
names.

Source: Narayanan et al., PipeDream: Generalized Pipeline Parallelism for DNN Training, 2019.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP604",
    name="version-retired-early",
    axiom=Empty(Rel("retired")),
    message=(
        "{op} overwrites version {version} of {weight}, of which {slots} are kept at once, "
        "before {reader} reads it"
    ),
    doc=__doc__,
)
