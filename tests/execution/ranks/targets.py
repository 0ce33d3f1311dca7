"""What ranks run in tests: at the top of a module, so that a worker can import it."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import torch
from torch import distributed

if TYPE_CHECKING:
    from pipeproof.execution.ranks.processes import Report


def summed(payload: int, report: Report) -> tuple[int, int]:
    """Sum a number over all ranks."""
    report("sum")
    number = torch.tensor([payload])
    distributed.all_reduce(number)
    return distributed.get_rank(), int(number)


def numbered(payload: int, report: Report) -> tuple[int, float]:
    """Draw a number; tell which process this is."""
    report(payload)
    return os.getpid(), float(torch.rand(1))


def imported(payload: str, report: Report) -> bool:
    """Tell whether a module had been imported before."""
    report(payload)
    return payload in sys.modules


def facing(payload: bool, report: Report) -> str:  # noqa: FBT001  one payload a rank
    """Send to the other rank before receiving from it; the last one may have nothing to do."""
    if not payload:
        return "done"
    report(0)
    rank, value = distributed.get_rank(), torch.ones(1)
    distributed.send(value, 1 - rank)
    report(1)
    distributed.recv(value, 1 - rank)
    return "over"


def failing(payload: str, report: Report) -> None:
    """Raise, or end, or wait for a message that never comes."""
    report(payload)
    if payload == "raise":
        message = "as asked"
        raise LookupError(message)
    if payload == "end":
        os.write(2, b"no more\n")
        os._exit(3)
    distributed.recv(torch.empty(1), 1 - distributed.get_rank())


def busy(payload: float, report: Report) -> str:
    """Compute for some seconds without a report."""
    end = time.monotonic() + payload
    while time.monotonic() < end:
        sum(range(1000))
    return "over"


def empty(payload: int, report: Report) -> list[float]:
    """Return memory that nothing was written to."""
    return [float(each) for each in torch.empty(payload)]


def unreturnable(payload: int, report: Report) -> object:
    """Return what cannot be pickled."""
    return lambda: payload
