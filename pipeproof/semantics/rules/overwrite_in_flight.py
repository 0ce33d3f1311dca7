"""Storage is written while a transfer is under way in it.

A send reads its source from its post to its completion, even while it is queued, and a receive
writes its destination as long. Nothing adds to a gradient while its reduction runs.

Why it breaks training: The peer receives the next microbatch instead of this one, or half of each.

Source: torch.distributed: the tensor of an `isend` must not be changed before its wait.
"""

from pipeproof.semantics.logic import All, Empty, Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP502",
    name="overwrite-in-flight",
    axiom=All((Enforced(Rel("in_flight")), Empty(Rel("reduction_overwritten")))),
    message="{op} {why}",
    doc=__doc__,
)
