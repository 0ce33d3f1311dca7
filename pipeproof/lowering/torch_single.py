"""The loops of torch's single-stage schedules, GPipe and 1F1B, call by call.

Every call of `_batch_p2p` is a group under a handle of its own, every `_wait_batch_p2p` a WAIT.

Source: torch 2.13.0, torch/distributed/pipelining/schedules.py, `ScheduleGPipe` and
`Schedule1F1B`, `_step_microbatches`.
"""

import numpy as np

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule
from pipeproof.lowering._calls import Calls, Message
from pipeproof.lowering._lowered import Lowered

__all__ = ["lower"]

_Order = list[tuple[Kind, int]]


def lower(schedule: Schedule, placement: tuple[int, ...]) -> Lowered:
    """Lower an order of GPipe or 1F1B as the loop of its class runs it.

    Raises:
        UnsupportedFeatureError: it is the order of neither, or of both.
    """
    ops, stages, total = schedule.operations, schedule.stages, schedule.microbatches
    calls = Calls(ops)
    orders = [_order(schedule, rank) for rank in range(schedule.ranks)]
    loops = [
        run
        for run, expected in ((_gpipe, _gpipe_order), (_one_f_one_b, _one_f_one_b_order))
        if orders == [expected(stage, stages, total) for stage in range(stages)]
    ]
    if not loops or placement != tuple(range(stages)):
        message = "torch-single runs the loops of GPipe and 1F1B, and this is the order of neither"
        raise UnsupportedFeatureError(message)
    if len(loops) > 1 and stages > 1:
        message = "with one microbatch GPipe and 1F1B have one order and two loops"
        raise UnsupportedFeatureError(message)
    loop = loops[0]
    for stage in range(stages):
        calls.begin(stage)
        loop(_Stage(calls, stage, stages, total, np.flatnonzero(ops.rank == stage).tolist()))
        calls.reduce(stage)
    return calls.lowered()


def _order(schedule: Schedule, rank: int) -> _Order:
    ops = schedule.operations
    rows = np.flatnonzero(ops.rank == rank).tolist()
    return [(Kind(int(ops.kind[row])), int(ops.microbatch[row])) for row in rows]


def _gpipe_order(stage: int, stages: int, total: int) -> _Order:
    return [(kind, m) for kind in (Kind.F, Kind.B) for m in range(total)]


def _one_f_one_b_order(stage: int, stages: int, total: int) -> _Order:
    warmup = min(total, stages - stage)
    order = [(Kind.F, m) for m in range(warmup)]
    for m in range(total):
        order.append((Kind.B, m))
        if warmup + m < total:
            order.append((Kind.F, warmup + m))
    return order


class _Stage:
    """One stage of a loop: its messages, and its computations in their order."""

    def __init__(self, calls: Calls, stage: int, stages: int, total: int, rows: list[int]) -> None:
        self.calls, self.stage, self.total = calls, stage, total
        self.first, self.last = stage == 0, stage == stages - 1
        self.warmup = min(total, stages - stage)
        self._rows = iter(rows)

    def compute(self) -> None:
        self.calls.compute(next(self._rows))

    def receive_forward(self, m: int) -> list[Message]:
        return [] if self.first else [(Kind.RECV_F, self.stage, m)]

    def send_forward(self, m: int) -> list[Message]:
        return [] if self.last else [(Kind.SEND_F, self.stage, m)]

    def receive_backward(self, m: int) -> list[Message]:
        return [] if self.last else [(Kind.RECV_B, self.stage, m)]

    def send_backward(self, m: int) -> list[Message]:
        return [] if self.first else [(Kind.SEND_B, self.stage, m)]


def _gpipe(stage: _Stage) -> None:
    calls = stage.calls
    for receive, send in (
        (stage.receive_forward, stage.send_forward),
        (stage.receive_backward, stage.send_backward),
    ):
        sent = []
        for m in range(stage.total):
            calls.wait(calls.post(receive(m)))
            stage.compute()
            sent.append(calls.post(send(m)))
        for handle in sent:
            calls.wait(handle)


def _one_f_one_b(stage: _Stage) -> None:
    calls, total = stage.calls, stage.total
    sent: str | None = None
    for m in range(stage.warmup):
        calls.wait(calls.post(stage.receive_forward(m)))
        stage.compute()
        calls.wait(sent)
        sent = calls.post(stage.send_forward(m)) if m != stage.warmup - 1 else None
    forward, backward = stage.warmup, 0
    while True:
        calls.wait(calls.post(stage.send_forward(forward - 1) + stage.receive_backward(backward)))
        stage.compute()
        backward += 1
        if forward == total:
            break
        calls.wait(calls.post(stage.send_backward(backward - 1) + stage.receive_forward(forward)))
        stage.compute()
        forward += 1
    sent = calls.post(stage.send_backward(backward - 1))
    while backward < total:
        calls.wait(calls.post(stage.receive_backward(backward)))
        stage.compute()
        calls.wait(sent)
        sent = calls.post(stage.send_backward(backward))
        backward += 1
    calls.wait(sent)
