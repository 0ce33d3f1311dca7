"""Storage is used after it was given back.

Judged so far under the profile `torch-runtime`: the runtime's backward takes the activation, so
SEND_F lies between F and B or I, and SEND_B gives the gradient away, so there is one.

Why it breaks training: The runtime fails with a KeyError in the middle of a step, and the peer
hangs.

Source: torch/distributed/pipelining/stage.py (2.13.0), fwd_cache and bwd_cache.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP504",
    name="use-after-free",
    axiom=Empty(Rel("given_away")),
    message="{op} sends what is no longer there: {why}",
    doc=__doc__,
)
