"""A message has no partner, or an AWAIT no SIGNAL.

The k-th send of a channel meets its k-th receive (by tag: the k-th of the same value); what is
left over meets nothing.

Why it breaks training: A receive that nothing is sent to waits for ever, and so does an
unbuffered send.

Source: pytorch/pytorch#108378; hpcaitech/ColossalAI#1180.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP201",
    name="unmatched-message",
    axiom=Empty(Rel("unmatched")),
    message="{op} has no partner: rank {peer} has no {missing} left for it",
    doc=__doc__,
)
