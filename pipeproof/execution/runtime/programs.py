"""What torch's runtime is asked to run: the text of a CSV, or one of its own classes."""

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor
from torch.distributed.pipelining.schedules import (
    PipelineScheduleMulti,
    PipelineScheduleSingle,
    _PipelineScheduleRuntime,
    get_schedule_class,
)
from torch.distributed.pipelining.stage import _PipelineStageBase

__all__ = ["ACTIONS", "CLASSES", "SLOTS", "Program", "Schedule", "build", "homes_of", "of_csv"]

CLASSES = (
    *("GPipe", "1F1B", "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble"),
    *("ZBVZeroBubble", "DualPipeV"),
)
"""The schedules that torch ships, as `get_schedule_class` names them."""

ACTIONS, SLOTS = "actions", "slots"
"""What runs a CSV: torch's runtime action by action, or its older one, locked to slots."""

Schedule = PipelineScheduleSingle | PipelineScheduleMulti
_MESSAGE = re.compile(r"SEND_|RECV_|SHARD|REDUCE_GRAD")
_SHARD = re.compile(r"(\d+)(?:UN|RE)SHARD")
_STAGE = re.compile(r"(?:^|[(;])\s*(\d+)[A-Z]")


@dataclass(frozen=True, slots=True)
class Program:
    """A schedule as torch takes it, on `ranks` ranks.

    Stages in `sharded` are given to FSDP, each over its own rank alone. It is run for `steps`
    steps, at most 2.

    `runner` is one of `CLASSES`, which torch ships, or runs `text`, a CSV. `homes` tells the rank
    of each stage; `messages` whether the text holds messages, so that torch does not lower it.
    `deferred` is torch's option `defer_pp_recv`.
    """

    ranks: int
    microbatches: int
    homes: tuple[int, ...]
    text: str = ""
    messages: bool = False
    deferred: bool = False
    runner: str = ACTIONS
    sharded: frozenset[int] = frozenset()
    steps: int = 2

    @property
    def stages(self) -> int:
        """How many stages the model has."""
        return len(self.homes)


def build(
    program: Program, stages: list[_PipelineStageBase], loss: Callable[[Tensor, Tensor], Tensor]
) -> Schedule:
    """Return torch's schedule of a program over the stages of this rank.

    Raises:
        Exception: torch does not take it.
    """
    options = {"defer_pp_recv": True} if program.deferred else {}
    many = program.microbatches
    if program.runner in CLASSES:
        found = get_schedule_class(program.runner)
        single = issubclass(found, PipelineScheduleSingle)
        made: Schedule = found(stages[0] if single else stages, many, loss_fn=loss, **options)
        return made
    runner: Callable[..., PipelineScheduleMulti] = _PipelineScheduleRuntime
    if program.runner == SLOTS:
        runner = PipelineScheduleMulti
    loader = runner(stages, many, loss_fn=loss, **options)
    with _file(program.text) as path:
        loader._load_csv(path, format="compute_comms" if program.messages else "compute_only")  # noqa: SLF001  torch has no public name
    return loader


def of_csv(
    text: str, stages: int, microbatches: int, *, profile: str = "", deferred: bool = False
) -> Program:
    """Return the program of a CSV, run by what a profile of the language stands for.

    A stage with an UNSHARD or a RESHARD is sharded. Profile `torch-multi` is the older runtime,
    `torch-single` the loop of GPipe or 1F1B.
    """
    rows = [line.split(",") for line in text.splitlines()]
    homes, messages = homes_of(rows, stages), _MESSAGE.search(text) is not None
    if profile == "torch-single":
        first = [cell for cell in rows[-1] if cell][:2]
        name = "1F1B" if len(first) > 1 and "B" in first[1] else "GPipe"
        return Program(len(rows), microbatches, homes, runner=name)
    runner = SLOTS if profile == "torch-multi" else ACTIONS
    sharded = frozenset(int(stage) for stage in _SHARD.findall(text))
    return Program(len(rows), microbatches, homes, text, messages, deferred, runner, sharded)


def homes_of(rows: Sequence[Sequence[str]], stages: int) -> tuple[int, ...]:
    """Return the rank of each stage: that of its first action, -1 where it has none."""
    homes = [-1] * stages
    for rank, row in enumerate(rows):
        for found in (int(each) for cell in row for each in _STAGE.findall(cell)):
            if found < stages and homes[found] < 0:
                homes[found] = rank
    return tuple(homes)


@contextlib.contextmanager
def _file(text: str) -> Iterator[str]:
    """Give a file that holds a text, for as long as torch reads it."""
    with tempfile.TemporaryDirectory(prefix="pipeproof-") as folder:
        path = Path(folder, "order.csv")
        path.write_text(text, encoding="utf-8", newline="")
        yield str(path)
