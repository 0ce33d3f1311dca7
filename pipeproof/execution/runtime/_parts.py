"""The stages of a model as torch's runtime takes them, and the same model unsplit."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.stage import _PipelineStageBase
from torch.distributed.tensor import DTensor

from pipeproof.execution.witness import EXACT, WIDTH, Witness

__all__ = ["Part", "Unsplit", "sharded", "stage_of", "telling", "unsplit", "whole", "witness_of"]

_ROWS = 3
_ASKED = {
    "get_fwd_recv_ops": "RECV_F",
    "forward_one_chunk": "F",
    "get_fwd_send_ops": "SEND_F",
    "get_bwd_recv_ops": "RECV_B",
    "backward_one_chunk": "B",
    "backward_weight_one_chunk": "W",
    "get_bwd_send_ops": "SEND_B",
}


def witness_of(stages: int, microbatches: int, step: int) -> Witness:
    """Return the exact model of one step: its own weights and data, equal microbatches.

    Its loss is scaled by the number of microbatches, by which torch divides gradients.
    """
    seed, scale = step, microbatches
    return Witness(EXACT, stages, microbatches, seed, scale, tall=_ROWS, short=_ROWS)


class Part(nn.Module):
    """One stage: linear, ReLU, linear."""

    def __init__(self, witness: Witness, stage: int) -> None:
        super().__init__()
        self.witness, self.stage = witness, stage
        self.weights = nn.ParameterList(nn.Parameter(w.clone()) for w in witness.first(stage))

    def forward(self, value: Tensor) -> Tensor:
        """Return what the stage makes of an input."""
        return self.witness.run(list(self.weights), value)

    def renew(self, witness: Witness) -> None:
        """Take the weights of another step."""
        self.witness = witness
        with torch.no_grad():
            for own, new in zip(self.weights, witness.first(self.stage), strict=True):
                whole(own).copy_(new)
                own.grad = None


def whole(value: Tensor) -> Tensor:
    """Return the numbers of a tensor that is sharded over one rank, or not at all."""
    return value.to_local() if isinstance(value, DTensor) else value


def sharded(part: Part, group: distributed.ProcessGroup) -> None:
    """Give a stage to FSDP, over a group of one rank; only what the schedule says gathers it."""
    fully_shard(part, mesh=DeviceMesh.from_group(group, "cpu"), reshard_after_forward=False)


class Unsplit(NamedTuple):
    """A step of the model in one process: per microbatch, and the gradients by stage."""

    outputs: Tensor
    losses: tuple[Tensor, ...]
    gradients: tuple[tuple[Tensor, ...], ...]


def unsplit(witness: Witness) -> Unsplit:
    """Run the model microbatch by microbatch; gradients are divided as torch divides them."""
    weights = [
        [each.clone().requires_grad_() for each in witness.first(s)] for s in range(witness.stages)
    ]
    leaves = [each for own in weights for each in own]
    total = [torch.zeros_like(each) for each in leaves]
    outputs, losses = [], []
    for m in range(witness.microbatches):
        value = witness.given("X", m)
        for own in weights:
            value = witness.run(own, value)
        loss = witness.loss(value, witness.given("Y", m))
        found = torch.autograd.grad(loss, leaves)
        total = [old + new for old, new in zip(total, found, strict=True)]
        witness.assert_exact(value, loss, *total)
        outputs.append(value.detach())
        losses.append(loss.detach())
    shared = [each / witness.microbatches for each in total]
    witness.assert_exact(*shared)
    count = len(witness.shapes)
    gradients = (tuple(shared[k : k + count]) for k in range(0, len(shared), count))
    return Unsplit(torch.cat(outputs), tuple(losses), tuple(gradients))


def stage_of(part: Part, group: distributed.ProcessGroup) -> PipelineStage:
    """Return a stage for torch's runtime, of known shapes."""
    like = torch.zeros(_ROWS, WIDTH, dtype=part.witness.dtype)
    entering = like if part.stage == 0 else like.clone().requires_grad_()
    return PipelineStage(
        part,
        part.stage,
        part.witness.stages,
        torch.device("cpu"),
        input_args=entering,
        output_args=like.clone().requires_grad_(),
        group=group,
    )


def telling(stage: _PipelineStageBase, tell: Callable[[str], None]) -> None:
    """Make a stage tell what a loop of torch asks of it."""
    for name, kind in _ASKED.items():
        setattr(stage, name, _told(getattr(stage, name), tell, kind, stage.stage_index))


def _told(
    asked: Callable[..., object], tell: Callable[[str], None], kind: str, stage: int
) -> Callable[..., object]:
    def told(microbatch: int, *rest: object, **named: object) -> object:
        split = kind == "B" and named.get("full_backward") is False
        tell(f"{stage}{'I' if split else kind}{microbatch}")
        return asked(microbatch, *rest, **named)

    return told
