"""A gradient is reduced before its last contribution, or the last one is not marked as such.

What is added after the reduction stays on its replica. Where a runtime reduces at the backward
that carries `last=yes`, that mark stands on the last contribution of the step and on no other.

Why it breaks training: Replicas drift apart, each with a part of its own gradient.

Source: torch 2.13.0 accepts REDUCE_GRAD anywhere; pytorch/pytorch#144530;
deepspeedai/DeepSpeed#3911.
"""

from pipeproof.semantics.logic import All, Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP704",
    name="early-reduction",
    axiom=All((Empty(Rel("early_reductions")), Empty(Rel("wrong_marks")))),
    message="{op} {why}",
    doc=__doc__,
)
