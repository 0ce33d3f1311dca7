"""Buffers are held at the end of the program.

What a rank holds (HOLD) it drops (DROP) before its program ends.

Why it breaks training: Each step leaves some memory behind, and the run ends hours later out of
memory.

Source: torch 2.13.0, stage.py: `fwd_cache` of a stage that never runs its backward.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP507",
    name="never-freed",
    axiom=Empty(Rel("unfreed")),
    message="rank {rank} still holds {left} at the end of its program",
    doc=__doc__,
)
