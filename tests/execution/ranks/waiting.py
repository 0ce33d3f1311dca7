"""A program that prints the ids of two ranks, and then waits for ever in a call."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pipeproof.execution.ranks.processes import Processes, Returned

if TYPE_CHECKING:
    from pipeproof.execution.ranks.processes import Report


def asleep(payload: int, report: Report) -> int:
    """Sleep for some seconds; return which process did."""
    report("asleep")
    time.sleep(payload)
    return os.getpid()


def main() -> None:
    from tests.execution.ranks import waiting  # noqa: PLC0415  as a worker imports it

    with Processes() as processes:
        for answer in processes.call(waiting.asleep, [0, 0], limit=60):
            assert isinstance(answer, Returned)
            print(answer.value, flush=True)  # noqa: T201  read by the test
        processes.call(waiting.asleep, [1000, 1000], limit=1000)


if __name__ == "__main__":
    main()
