"""A schedule ends only because sends are buffered.

It is legal under `buffered` and `buffered-1`, and stuck under a rendezvous transport. A warning
beside the deadlock, never a verdict of its own.

Why it breaks training: It runs while messages are small, and hangs once they outgrow the
internal buffers.

Source: pytorch/pytorch#138074; MPI 4.1, 3.5: safe programs.
"""

from pipeproof.semantics.logic import PROGRESS, Acyclic, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP302",
    name="depends-on-buffering",
    axiom=Acyclic(PROGRESS, through="messages"),
    message=(
        "it is stuck under {stuck} and legal when sends are buffered: it depends on buffering"
    ),
    doc=__doc__,
    warns=True,
)
