"""A stage computes while its weights are sharded.

A stage is sharded from the start if an UNSHARD or RESHARD of it stands in the file, and
computes between an UNSHARD and the next RESHARD only.

Why it breaks training: It computes with a shard, or with memory that has been given back.

Source: pytorch/pytorch#164756, pytorch/pytorch#165467.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP406",
    name="sharded-use",
    axiom=Empty(Rel("sharded")),
    message="{op} runs while its stage is sharded",
    doc=__doc__,
)
