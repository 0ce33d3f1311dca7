"""A read finds other contents than it names.

Judged so far under the profile `torch-runtime`: losses are listed in the order in which the
last stage runs its forwards and taken by microbatch, so these forwards run in order.

Why it breaks training: The backward starts from the loss of another microbatch: wrong
gradients, no error.

Source: torch/distributed/pipelining/schedules.py (2.13.0), _internal_losses.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP505",
    name="wrong-contents",
    axiom=Empty(Rel("losses_elsewhere")),
    message="{op} takes entry {index} of the losses, which holds {there}",
    doc=__doc__,
)
