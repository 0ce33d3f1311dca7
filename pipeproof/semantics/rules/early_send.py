"""A send starts before its value is there.

The value is made, loaded or received on the sending rank first.

Why it breaks training: The receiver gets what the storage held before.

Source: torch 2.13.0 raises a KeyError at run time; the CSV loads.
"""

from pipeproof.semantics.logic import Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP405",
    name="early-send",
    axiom=Enforced(Rel("sends")),
    message="{op} starts before {value} is there",
    doc=__doc__,
)
