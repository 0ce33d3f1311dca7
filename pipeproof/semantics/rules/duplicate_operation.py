"""An operation takes place twice.

Once for each stage and microbatch: F, and B or I and W, and one L for a microbatch; a reduction
once for each step; UNSHARD of an unsharded stage and RESHARD of a sharded one change nothing. F
with different `bucket`, and B or W with different `param` or each with `c`, are parts of one
operation.

Why it breaks training: A gradient that is added twice counts its microbatch twice; torch's
runtime fails later, elsewhere.

Source: pytorch/pytorch#180952; torch's validators keep sets and see no duplicate.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP102",
    name="duplicate-operation",
    axiom=Empty(Rel("duplicated")),
    message="{op} has already taken place",
    doc=__doc__,
)
