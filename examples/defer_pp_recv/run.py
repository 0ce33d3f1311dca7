"""A stock option of torch that trains on wrong gradients: our verdict, and torch itself.

python examples/defer_pp_recv/run.py    # needs torch: pip install 'pipeproof[torch]'
"""

import sys
from typing import TYPE_CHECKING

from pipeproof.api import Asked, judge
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.testing import mock_stages

if TYPE_CHECKING:
    from pipeproof.execution.runtime.ran import Ran
    from pipeproof.verdict.verdict import TransportVerdict

NAME, RANKS, EACH, MICROBATCHES = "InterleavedZeroBubble", 2, 2, 3
HOMES = (0, 1, 0, 1)
TRANSPORT = "gloo"


def judged(*, deferred: bool) -> "TransportVerdict":
    """Return what is said of the order that torch makes, without running it."""
    from torch.distributed.pipelining.schedules import get_schedule_class

    from pipeproof.execution.torch_classes import orders_of

    made = get_schedule_class(NAME)
    orders = orders_of(made(mock_stages(RANKS, EACH), MICROBATCHES, defer_pp_recv=deferred))
    options = ReadOptions(microbatches=MICROBATCHES, stages=len(HOMES))
    document = torch_csv.read_rows_of(orders["rows"], NAME, options)[0]
    return judge(document, Asked(transports=(TRANSPORT,))).transports[0]


def seen() -> "dict[bool, Ran]":
    """Return what torch does, without the option and with it, on two processes."""
    from pipeproof.execution.runtime.programs import Program
    from pipeproof.execution.runtime.ran import Runtime

    with Runtime() as runtime:
        return {
            deferred: runtime.run(
                Program(RANKS, MICROBATCHES, HOMES, deferred=deferred, runner=NAME)
            )
            for deferred in (False, True)
        }


def main() -> int:
    """Print the verdict beside what torch does; return 0 where both are as the page says."""
    try:
        import torch
        import torch.distributed.pipelining.schedules
    except ModuleNotFoundError:
        print("this example needs torch: pip install 'pipeproof[torch]'", file=sys.stderr)
        return 2
    size = f"{RANKS} ranks, {EACH} stages a rank, {MICROBATCHES} microbatches"
    print(f"torch {torch.__version__}: Schedule{NAME}, {size}, over {TRANSPORT}")
    ran, told = seen(), []
    for deferred in (False, True):
        verdict, shown = judged(deferred=deferred), ran[deferred]
        first = next((each for each in verdict.violations if each.first), None)
        said = "" if first is None else f": {first.rule} {first.message}"
        exact = f"{shown.compared} numbers, bitwise those of the unsplit model"
        print(f"\ndefer_pp_recv={deferred}")
        print(f"  pipeproof: {verdict.outcome.value}{said}")
        print(f"  torch:     {shown.kind.value}{'' if shown.said else f': {exact}'}")
        for each in shown.said.split("; ") if shown.said else ():
            print(f"    {each}")
        told.append((None if first is None else first.rule, shown.kind.value))
    return int(told != [(None, "right"), ("PP202", "wrong numbers")])


if __name__ == "__main__":
    sys.exit(main())
