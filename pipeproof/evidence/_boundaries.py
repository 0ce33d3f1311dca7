"""What a bundle speaks of, and what no bundle speaks of."""

from collections.abc import Mapping, Sequence

from pipeproof.evidence._result import Summary
from pipeproof.evidence._shape import Json

__all__ = ["NOT_VALIDATED", "OUTSIDE", "boundaries"]

NOT_VALIDATED = (
    "several GPUs",
    "NCCL",
    "RDMA",
    "FSDP2 and ZeRO lifecycles",
    "MoE and all-to-all",
    "FP8",
    "CUDA graphs",
    "one-shot and common-mode faults",
    "scale",
    "long runs",
)
OUTSIDE = ("relaunch", "placement", "replacement", "quarantine")

_DEVICES = "CPU: what judges, certifies and checks again uses no accelerator"
_ASKED = "; of the commands that were asked for, their logs say on what they ran"
_TOPOLOGY = "one machine, one process after the other"


def boundaries(found: Sequence[Summary], *, asks: bool) -> Mapping[str, Json]:
    """Return what was qualified and what was not; `asks` says that more commands were run."""
    under = [each for schedule in found for each in schedule.transports]
    return {
        "transports": sorted({each.name for each in under}),
        "sizes": {
            "stages": max((each.stages for each in found), default=0),
            "ranks": max((each.ranks for each in found), default=0),
            "microbatches": max((each.microbatches for each in found), default=0),
            "operations": max((each.operations for each in found), default=0),
        },
        "devices": _DEVICES + (_ASKED if asks else ""),
        "topology": _TOPOLOGY,
        "assumes": sorted({each for one in under for each in one.assumes}),
        "not_validated": [*NOT_VALIDATED],
        "outside": [*OUTSIDE],
    }
