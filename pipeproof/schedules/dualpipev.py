"""DualPipeV: a forward of one stage overlaps with a backward of the rank's other stage.

Two stages a rank, placed in a V. Some backwards at either end are split into `I` and `W`; a `W`
is always the oldest that is pending.

Source: DeepSeek-V3, arXiv:2412.19437, section 3.2.1, and github.com/deepseek-ai/DualPipe,
`dualpipe/dualpipev.py`; torch 2.13.0, `torch/distributed/pipelining/schedules.py`,
`ScheduleDualPipeV`.
"""

from dataclasses import replace
from typing import Literal

from pipeproof.ir.actions import Kind
from pipeproof.schedules._order import Order, Shape, Step, Steps, in_turn, overlap, repeat

__all__ = ["NAME", "PLACEMENT", "STAGES_PER_RANK", "expected", "order"]

NAME = "dualpipev"
STAGES_PER_RANK: int | None = 2
PLACEMENT: Literal["loop", "v"] = "v"


def expected(shape: Shape) -> str:
    """Return what is expected of the number of microbatches; nothing where it is so."""
    return f"write at least {shape.stages}" if shape.microbatches < shape.stages else ""


def order(shape: Shape, rank: int) -> Order:
    """Return what `rank` computes, in order."""
    near, far, behind = rank, shape.stages - 1 - rank, shape.ranks - 1 - rank
    f, b, i, w = (Step(kind, near) for kind in (Kind.F, Kind.B, Kind.I, Kind.W))
    far_f, far_b, far_i = (Step(kind, far) for kind in (Kind.F, Kind.B, Kind.I))
    both = (*overlap(f, far_b), *overlap(far_f, b))
    # The last rank runs its first forward and backward one after the other.
    opening = (f, far_b, *overlap(far_f, b)) if behind == 0 else both
    found = in_turn(
        repeat(2 * behind, f),
        repeat(rank + 1, f, far_f),
        repeat(behind, far_i, w, far_f),
        repeat(1, *opening),
        repeat(shape.microbatches - shape.stages + rank, *both),
        repeat(behind, far_b, *overlap(far_f, b)),
        _closing(rank, far_b, b),
        repeat(behind, w, i),
        repeat(rank + 1, w),
    )
    return _oldest_first(found)


def _closing(rank: int, far_b: Step, b: Step) -> Steps:
    """Return `rank + 1` backwards of either stage in turn, the second half of them split."""
    steps = repeat(rank + 1, far_b, b)
    steps[rank + 1 :, 0] = Kind.I
    return steps


def _oldest_first(order: Order) -> Order:
    """Return `order` with the k-th weight gradient that of the k-th input gradient."""
    weights, inputs = order.kind == Kind.W, order.kind == Kind.I
    stage, microbatch = order.stage.copy(), order.microbatch.copy()
    stage[weights], microbatch[weights] = stage[inputs], microbatch[inputs]
    return replace(order, stage=stage, microbatch=microbatch)
