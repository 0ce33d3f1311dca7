"""Storage is read before what is to be read there is complete.

A read starts after the receive that brings its value has arrived, in every execution, and after
the value has been put where it is read. A gradient is read and scaled after its reduction ended.

Why it breaks training: The operation computes on a mixture of the message before and this one, or
on memory that was never written. Nothing fails; the gradients are wrong.

Source: torch 2.13.0 leaves waits of `irecv` to the caller; pytorch/pytorch#144535.
"""

from pipeproof.semantics.logic import All, Empty, Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP501",
    name="read-before-complete",
    axiom=All((Enforced(Rel("unfinished")), Empty(Rel("reduction_read")))),
    message="{op} {why}",
    doc=__doc__,
)
