"""Storage is written while a transfer is under way in it.

A send reads its source from its post to its completion, even while it is queued, and a receive
writes its destination as long.

Why it breaks training: The peer receives the next microbatch instead of this one, or half of each.

Source: torch.distributed: the tensor of an `isend` must not be changed before its wait.
"""

from pipeproof.semantics.logic import Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP502",
    name="overwrite-in-flight",
    axiom=Enforced(Rel("in_flight")),
    message="{op} {why}",
    doc=__doc__,
)
