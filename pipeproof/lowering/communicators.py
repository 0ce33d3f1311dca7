"""Which communicator torch's calls stand on: one a pair of ranks, or one for all."""

import dataclasses

import numpy as np

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import read_only
from pipeproof.ir.transport import Queue, Transport

__all__ = ["joined", "splits_calls"]

_LOOPS = ("torch-multi", "torch-single")


def splits_calls(run: AsRun, transport: Transport) -> bool:
    """Whether a call that sends and receives stands apart from the others.

    Torch's loops put it on the group's communicator; where communicators are created lazily, one
    a pair of ranks, a lone send or receive stands on that of its pair.

    Source: torch 2.13.0, schedules.py, `_batch_p2p`; ProcessGroupNCCL, `pointToPoint`.
    """
    return run.schedule.lowering not in _LOOPS or transport.queue is Queue.PAIR


def joined(run: AsRun) -> AsRun:
    """Return the schedule with all its messages on the default communicator."""
    ops = dataclasses.replace(run.operations, comm=read_only(np.zeros(len(run.operations))))
    return dataclasses.replace(run, operations=ops)
