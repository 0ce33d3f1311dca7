"""A read finds other contents than it names.

Storage holds, where it is read, the value that its reader needs. Under the profile
`torch-runtime` losses are listed in the order in which the last stage runs its forwards and taken
by microbatch, so these forwards run in order.

Why it breaks training: The operation computes on the data of another microbatch: wrong gradients,
no error.

Source: torch/distributed/pipelining/schedules.py (2.13.0), _internal_losses; DeepSpeed's registers
(`runtime/pipe/engine.py`).
"""

from pipeproof.semantics.logic import All, Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP505",
    name="wrong-contents",
    axiom=All((Empty(Rel("losses_elsewhere")), Empty(Rel("misread")))),
    message="{op} {why}",
    doc=__doc__,
)
