"""A microbatch enters the gradient with another coefficient than is asked for.

Coefficients are exact: those of all parts, times every scaling after them, add up to what
`gradients.coefficients` asks (1 by default). A microbatch of another step has none here.

Why it breaks training: The learning rate changes with the number of microbatches, or long and
short microbatches weigh the same.

Source: deepspeedai/DeepSpeed#7773, pytorch/torchtitan#2972, areal-project/AReaL#1273.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP703",
    name="wrong-coefficient",
    axiom=Empty(Rel("wrong_coefficients")),
    message="at {op} the gradient of stage {stage} has a wrong share of {wrong}",
    doc=__doc__,
)
