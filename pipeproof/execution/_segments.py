"""A microbatch that is cut into segments, unsplit: all of them in one graph."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from pipeproof.execution.witness import WIDTH

if TYPE_CHECKING:
    from pipeproof.execution.reference import Reference

__all__ = ["Segment", "segmented"]


class Segment(NamedTuple):
    """One segment, forwards and backwards, by stage."""

    inputs: Mapping[int, Tensor]
    outputs: Mapping[int, Tensor]
    input_gradients: Mapping[int, Tensor]
    gradients: Mapping[int, tuple[Tensor, ...]]


def segmented(
    reference: "Reference", microbatch: int, replica: str
) -> Iterator[tuple[int, Segment]]:
    """Yield every segment of the microbatch that one belongs to.

    A stage works on the input of a segment and on the sum of what those before it entered with.
    The loss is the sum over all segments.
    """
    asked, witness = reference.asked, reference.witness
    begins, stages = asked.begins(microbatch), asked.line(microbatch).stages
    segments = range(begins, begins + asked.segments)
    entered = [{s: witness.given(f"{replica}X", s).detach().requires_grad_() for s in segments}]
    weights = [{s: reference.leaves(stage, s) for s in segments} for stage in stages]
    for stage, own in zip(stages, weights, strict=True):
        made, before = {}, torch.zeros(WIDTH, dtype=witness.dtype)
        for s in segments:
            value = reference.input_of(stage, s, entered[-1][s], replica)
            made[s] = witness.run(own[s], value + before, reference.at(stage, s))
            before = before + value.sum(0)
        entered.append(made)
    parts = [witness.loss(entered[-1][s], witness.given(f"{replica}Y", s)) for s in segments]
    loss = torch.stack(parts).sum()
    for s in segments:
        inputs = [each[s] for each in entered[:-1]]
        leaves = [*inputs, *(w for own in weights for w in own[s])]
        found = torch.autograd.grad(loss, leaves, retain_graph=True)
        witness.assert_exact(loss, *(each[s] for each in entered[1:]), *found)
        count, rest = len(witness.shapes), found[len(stages) :]
        yield (
            s,
            Segment(
                {stage: inputs[n].detach() for n, stage in enumerate(stages)},
                {stage: entered[n + 1][s].detach() for n, stage in enumerate(stages)},
                {stage: found[n] for n, stage in enumerate(stages)},
                {stage: rest[n * count : (n + 1) * count] for n, stage in enumerate(stages)},
            ),
        )
