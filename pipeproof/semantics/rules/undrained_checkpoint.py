"""A checkpoint is taken while something of its rank is under way.

A forward waits for its backward, a contribution for its step, a value for its reader, or a message
for its end. A checkpoint that saves what is in flight says so, `SAVE async=…`.

Why it breaks training: What is under way is in no state that is saved. The run that goes on from
it lacks a gradient, or waits for a message that was sent before.

Source: huggingface/transformers#22143.
"""

from pipeproof.semantics.logic import All, Empty, Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP803",
    name="undrained-checkpoint",
    axiom=All((Empty(Rel("undrained")), Enforced(Rel("unsettled")))),
    message="{op} is taken while {value} is under way: {other} is not complete there",
    doc=__doc__,
)
