"""Storage is overwritten before all have read what it holds.

A write comes after every reader of the value that it overwrites.

Why it breaks training: The later reader computes on another microbatch, without an error.

Source: DeepSpeed's pipe buffers (`runtime/pipe/engine.py`): one register for the loss, one for the
gradient.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP503",
    name="overwrite-unread",
    axiom=Empty(Rel("overwritten")),
    message="{op} {why}",
    doc=__doc__,
)
