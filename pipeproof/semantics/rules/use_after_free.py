"""Storage is given back while it is still in use, or used after it was given back.

A FREE comes after every reader of what the storage holds and after the transfers in it. Under
the profile `torch-runtime` the backward takes the activation, so SEND_F lies between F and B or I,
and SEND_B gives the gradient away, so there is one.

Why it breaks training: The allocator hands the memory to someone else, who overwrites it; torch's
runtime fails with a KeyError in the middle of a step, and the peer hangs.

Source: torch/distributed/pipelining/stage.py (2.13.0), fwd_cache and bwd_cache;
torch.Tensor.record_stream.
"""

from pipeproof.semantics.logic import All, Empty, Enforced, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP504",
    name="use-after-free",
    axiom=All((Empty(Rel("given_away")), Enforced(Rel("freed")))),
    message="{op} {why}",
    doc=__doc__,
)
