"""A gradient is applied to weights that have moved too far on.

No more updates than `bounds.staleness` lie between the oldest version that was read for a
contribution and the one that its STEP changes.

Why it breaks training: The gradient is that of older weights; the further they have moved, the
less it says of where they are, and training slows down or diverges.

Source: Yang et al., PipeMare: Asynchronous Pipeline Parallel DNN Training, 2021.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP603",
    name="too-stale",
    axiom=Empty(Rel("stale")),
    message=(
        "{what} gradient of older weights, too old: {op} works with version {version} of {weight}, "
        "{step} applies it to version {current}: delay {delay}, at most {bound} is allowed"
    ),
    doc=__doc__,
)
