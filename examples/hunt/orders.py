"""Orders of computations that torch prints, as a generator that can be hunted in.

cd examples/hunt
pipeproof hunt --generator orders:printed_1f1b --ranks 1-3 --microbatches 1-4

needs torch: pip install 'pipeproof[torch]'
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["printed_1f1b"]


def printed_1f1b(stages: Sequence[Any], microbatches: int) -> Mapping[int, Sequence[object]]:
    """Return what `Schedule1F1B.pipeline_order` holds: what torch prints and shows of 1F1B."""
    from torch.distributed.pipelining.schedules import Schedule1F1B

    order: Mapping[int, Sequence[object]] = Schedule1F1B(stages[0], microbatches).pipeline_order
    return {
        rank: [each for each in actions if each is not None and "REDUCE_GRAD" not in str(each)]
        for rank, actions in order.items()
    }
