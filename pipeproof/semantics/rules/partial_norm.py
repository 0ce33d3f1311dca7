"""A gradient is used without its norm over all ranks.

`norm: all` asks for a NORM over all ranks after the last contribution, reduction, TIE or ZERO.

Why it breaks training: Each rank clips by a norm of its own, and stages are scaled differently.

Source: torch 2.13.0, torch.nn.utils.clip_grad_norm_ computes the norm of local gradients only;
pytorch/torchtitan#596: the norm of one rank is to be reduced over the pipeline.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP709",
    name="partial-norm",
    axiom=Empty(Rel("partial_norms")),
    message=(
        "at {op} no norm of the gradient of {what}stage {stage} over all ranks stands after its "
        "last change"
    ),
    doc=__doc__,
)
