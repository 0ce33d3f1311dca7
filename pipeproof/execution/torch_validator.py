"""What torch's own checks say of an order of computations: accepts, rejects or crashes.

Source: torch 2.13.0, `torch/distributed/pipelining/schedules.py`: `_validate_schedule`,
`_PipelineScheduleRuntime`, `_simulate_comms_compute`.
"""

import contextlib
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pipeproof.execution.torch_classes import mock_stages

__all__ = ["Said", "torch_says"]

_UNKNOWN = ("UNSHARD", "RESHARD", "REDUCE_GRAD")  # to its simulator, in any schedule


class Said(NamedTuple):
    """What torch's checks say: `accepts`, `rejects`, `crashes`, or `-` where it was not asked."""

    validate: str
    simulate: str

    @property
    def lets_through(self) -> bool:
        """Whether none of them finds anything wrong."""
        return {self.validate, self.simulate} == {"accepts"}


def torch_says(programs: Sequence[Sequence[str]], home: Sequence[int], microbatches: int) -> Said:
    """Ask torch about the order of each rank, as its CSV writes it: computations only.

    Args:
        programs: the actions of each rank.
        home: the rank of each stage.
        microbatches: how many there are in a step.

    Raises:
        ModuleNotFoundError: torch is not installed.
    """
    from torch.distributed.pipelining import schedules as torch  # noqa: PLC0415  takes seconds

    validate: Any = torch._validate_schedule  # noqa: SLF001  there is no public one
    stages = len(home)
    validated = _said(lambda: validate(_order(programs), len(programs), stages, microbatches))
    if validated != "accepts":
        return Said(validated, "-")
    return Said(validated, _said(lambda: _simulate(programs, home, microbatches)))


def _order(programs: Sequence[Sequence[str]]) -> "dict[int, list[Any]]":
    """Return the actions as torch holds them, anew each time: torch changes what it is given."""
    from torch.distributed.pipelining.schedules import _Action  # noqa: PLC0415  as above

    read: Any = _Action.from_str
    return {rank: [read(cell) for cell in program] for rank, program in enumerate(programs)}


def _simulate(programs: Sequence[Sequence[str]], home: Sequence[int], microbatches: int) -> None:
    from torch.distributed.pipelining import schedules as torch  # noqa: PLC0415  as above

    ranks = len(programs)
    made: Any = torch._PipelineScheduleRuntime  # noqa: SLF001  as above
    runtime = made(mock_stages(ranks, len(home) // ranks), microbatches)
    runtime.stage_index_to_group_rank = dict(enumerate(home))
    runtime._prepare_schedule_with_comms(_order(programs))  # noqa: SLF001
    lowered = {
        rank: [action for action in actions if action.computation_type.value not in _UNKNOWN]
        for rank, actions in runtime.pipeline_order_with_comms.items()
    }
    simulate: Any = torch._simulate_comms_compute  # noqa: SLF001
    simulate(lowered, home.__getitem__, len(home))


def _said(ask: Callable[[], object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            ask()
        except (AssertionError, RuntimeError, ValueError):
            return "rejects"
        except (AttributeError, IndexError, KeyError, TypeError):
            return "crashes"
    return "accepts"
