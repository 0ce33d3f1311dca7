"""A message leaves its sender and nobody receives it.

Only where sends complete alone; it stands beside PP201.

Why it breaks training: The next step's first receive gets this step's left-over.

Source: torch 2.13.0 asserts no left-over receives at the end of a step.
"""

from pipeproof.semantics.logic import Never, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP303",
    name="stranded-message",
    axiom=Never(Rel("stranded")),
    message="{op} completes although rank {peer} never receives it",
    doc=__doc__,
)
