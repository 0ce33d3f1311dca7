"""An operation names a stage, microbatch, neighbour or rank that does not exist.

Stages are 0 to S - 1, microbatches 0 to M - 1 (M · T with T steps). The first stage receives no
activation and sends no gradient, the last sends no activation and receives no gradient.

Why it breaks training: What is computed belongs to nothing, and what it stands in for is
missing.

Source: torch 2.13.0 accepts microbatch 9 of 2 and fails at run time with an IndexError.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP103",
    name="unknown-identity",
    axiom=Empty(Rel("unknown")),
    message="{op} names something that does not exist",
    doc=__doc__,
)
