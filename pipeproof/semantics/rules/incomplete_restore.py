"""A run goes on from something else than what was saved.

It continues at another place in the data, from a checkpoint in flight that leaves something out,
or with a state that is not the one saved.

Why it breaks training: Microbatches are taken twice or never, and ranks continue from states that
never belonged together. Nothing fails.

Source: EleutherAI/gpt-neox#308, NVIDIA/Megatron-LM#6858.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP804",
    name="incomplete-restore",
    axiom=Empty(Rel("unrestored")),
    message="{op} {why}",
    doc=__doc__,
)
