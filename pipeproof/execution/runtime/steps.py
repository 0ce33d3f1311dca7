"""What one rank does: steps of a schedule in torch's runtime, compared with the unsplit model.

Each step has weights and data of its own, so that what is left over from the first is not taken
for right in the second. Every run has a process group of its own, so that nothing that it leaves
behind reaches the next one.
"""

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, distributed
from torch.distributed.pipelining.schedules import (
    _Action,
    _PipelineScheduleRuntime,
)

from pipeproof.execution.ranks.processes import Report
from pipeproof.execution.runtime._parts import (
    Part,
    sharded,
    stage_of,
    telling,
    unsplit,
    whole,
    witness_of,
)
from pipeproof.execution.runtime.programs import Program, Schedule, build
from pipeproof.execution.versions import digest

if TYPE_CHECKING:
    from torch.distributed.pipelining.stage import _PipelineStageBase

__all__ = ["BEFORE", "BEHIND", "SEEDS", "Share", "Told", "given", "run"]

SEEDS = (1, 2)
"""The seeds of the weights and data of each step."""

BEFORE, BEHIND = "before its first action", "behind its last action"
_MOST = 3
_LEFT: list[distributed.ProcessGroup] = []
"""The groups of the last run, open while others may still wait for what this rank sent."""

_GONE = ("Connection closed", "Connection reset", "Broken pipe", "connection was aborted")


@dataclass(frozen=True, slots=True)
class Share:
    """What one rank is asked to run."""

    program: Program
    rank: int


@dataclass(frozen=True, slots=True)
class Told:
    """What one rank saw.

    `wrong` names what differs from the unsplit model, at most a few; `compared` counts numbers.
    `error` is what torch says; `gone` that it says no more than that a peer is not there any more.
    `at` is the action that it stood in, as torch writes it. `moments` holds each action with when
    it began and ended, in nanoseconds, where torch's runtime goes through actions.
    """

    compared: int = 0
    wrong: tuple[str, ...] = ()
    error: str = ""
    gone: bool = False
    at: str = BEFORE
    moments: tuple[tuple[str, int, int], ...] = ()


def run(share: Share, report: Report) -> Told:
    """Run the steps of one rank, and tell what was seen; an error of torch is an answer."""
    stood = [BEFORE]

    def tell(action: str) -> None:
        stood[0] = action
        report(action)

    while _LEFT:
        _close(_LEFT.pop())
    with _quiet():
        group = distributed.new_group(range(share.program.ranks), backend="gloo")
        assert isinstance(group, distributed.ProcessGroup)  # noqa: S101  this rank is in it
        try:
            told = _steps(share, group, tell)
        except Exception as error:
            _close(group)
            said = _said(error)
            return Told(error=said, gone=any(each in said for each in _GONE), at=stood[0])
        _LEFT.append(group)
        return told


def given(program: Program) -> str:
    """Return a digest of the weights and data of all steps."""
    found = hashlib.sha256()
    for seed in SEEDS[: program.steps]:
        witness = witness_of(program.stages, program.microbatches, seed)
        data = (witness.given(what, m) for what in "XY" for m in range(program.microbatches))
        weights = (each for stage in range(program.stages) for each in witness.first(stage))
        for each in (*data, *weights):
            found.update(digest(each).encode())
    return found.hexdigest()


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}".rstrip(": ")


def _close(group: distributed.ProcessGroup) -> None:
    """Close the connections of a group, so that peers that wait for this rank hear of it."""
    group.abort()
    with contextlib.suppress(RuntimeError, ValueError):
        distributed.destroy_process_group(group)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch from logging what is told anyway."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class _Telling(list[_Action]):
    """The actions of a rank, each of which is told when it begins, and the end behind them.

    It tells once when it is `armed`: torch goes through the list again to print it.
    """

    def __init__(self, actions: Iterable[_Action], tell: Callable[[str], None]) -> None:
        super().__init__(actions)
        self._tell, self.armed = tell, False
        self.moments: list[tuple[str, int, int]] = []

    def __iter__(self) -> Iterator[_Action]:
        if not self.armed:
            yield from super().__iter__()
            return
        self.armed = False
        for action in super().__iter__():
            self._tell(str(action))
            began = time.monotonic_ns()
            yield action
            self.moments.append((str(action), began, time.monotonic_ns()))
        self._tell(BEHIND)


def _steps(share: Share, group: distributed.ProcessGroup, tell: Callable[[str], None]) -> Told:
    program, rank = share.program, share.rank
    first = witness_of(program.stages, program.microbatches, 1)
    parts = [Part(first, s) for s, home in enumerate(program.homes) if home == rank]
    _shard([part for part in parts if part.stage in program.sharded], rank)
    stages: list[_PipelineStageBase] = [stage_of(part, group) for part in parts]
    made = build(program, stages, first.loss)
    told: _Telling | None = None
    if isinstance(made, _PipelineScheduleRuntime):
        order = made.pipeline_order_with_comms
        told = order[rank] = _Telling(order[rank], tell)
    else:
        for stage in stages:
            telling(stage, tell)
    compared, wrong = 0, []
    for step in SEEDS[: program.steps]:
        if told is not None:
            told.armed = True
        for name, same in _step(program, parts, made, step):
            compared += 1
            if not same:
                wrong.append(f"{name} of step {step}")
    moments = () if told is None else tuple(told.moments)
    return Told(compared, tuple(wrong[:_MOST]), moments=moments)


def _shard(parts: list[Part], rank: int) -> None:
    """Give stages to FSDP, over a group of this rank alone."""
    if not parts:
        return
    alone = distributed.new_group([rank], backend="gloo", use_local_synchronization=True)
    assert isinstance(alone, distributed.ProcessGroup)  # noqa: S101  this rank is in it
    _LEFT.append(alone)
    for part in parts:
        sharded(part, alone)


def _step(
    program: Program, parts: list[Part], made: Schedule, step: int
) -> Iterator[tuple[str, bool]]:
    """Run one step; yield everything that is compared, and whether it is right."""
    witness = witness_of(program.stages, program.microbatches, step)
    mine = {part.stage for part in parts}
    for part in parts:
        part.renew(witness)
    batch = _batch(program, witness.given, "X"), _batch(program, witness.given, "Y")
    losses: list[Tensor] = []
    last = program.stages - 1 in mine
    output = made.step(
        *(batch[:1] if 0 in mine else ()), target=batch[1] if last else None, losses=losses
    )
    right = unsplit(witness)
    if last:
        yield "the output", _same(output, right.outputs)
        for m, loss in enumerate(right.losses):
            yield f"the loss of microbatch {m}", m < len(losses) and _same(losses[m], loss)
    for part in parts:
        gradients = right.gradients[part.stage]
        for k, (weight, due) in enumerate(zip(part.weights, gradients, strict=True)):
            yield f"the gradient of weight {k} of stage {part.stage}", _same(weight.grad, due)
        yield from _updated(part, gradients)


def _updated(part: Part, gradients: tuple[Tensor, ...]) -> Iterator[tuple[str, bool]]:
    """Take one step of gradient descent; yield each weight that it makes."""
    before = [whole(each).detach().clone() for each in part.weights]
    torch.optim.SGD(part.parameters(), lr=1.0).step()
    for k, (old, weight, due) in enumerate(zip(before, part.weights, gradients, strict=True)):
        yield f"weight {k} of stage {part.stage} after its update", _same(weight, old - due)


def _batch(program: Program, given: Callable[[str, int], Tensor], what: str) -> Tensor:
    return torch.cat([given(what, m) for m in range(program.microbatches)])


def _same(found: object, right: Tensor) -> bool:
    return isinstance(found, Tensor) and torch.equal(whole(found).detach(), right)
