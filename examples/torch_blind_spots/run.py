"""Schedules that torch takes and that are illegal: what torch says beside what pipeproof says.

python examples/torch_blind_spots/run.py    # needs torch: pip install 'pipeproof[torch]'
"""

import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeproof.api import judge
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.testing import mock_stages

HERE = Path(__file__).parent
COLUMNS = ("schedule", "validate", "load", "simulate", "pipeproof")


@dataclass(frozen=True, slots=True)
class Case:
    """A CSV beside this file: `microbatches` in a step, and what is wrong with it."""

    name: str
    microbatches: int
    wrong: str

    @property
    def path(self) -> Path:
        return HERE / f"{self.name}.csv"


CASES = (
    Case("forward-twice", 2, "rank 0 computes 0F0 twice"),
    Case("backward-by-count", 2, "microbatch 0 has B and also I and W, microbatch 1 has neither"),
    Case("numbered-from-one", 2, "two microbatches are 1 and 2, not 0 and 1"),
    Case("losses-out-of-order", 2, "the last stage's losses are listed as 1, 0 and read as 0, 1"),
    Case("receives-swapped", 2, "sent as 0, 1 and received as 1, 0: trains wrong, silently"),
    Case("stages-share-a-channel", 2, "two stages' messages between two ranks swap places"),
    Case("sends-face-each-other", 2, "both ranks send before they receive: hangs unless buffered"),
    Case("sent-twice", 2, "an activation is sent twice, and received once"),
    Case("gradient-sent-twice", 1, "a gradient is sent twice, and received once"),
    Case("reduced-too-early", 2, "REDUCE_GRAD stands before the last backward"),
    Case("used-while-sharded", 1, "a backward runs on weights that were resharded"),
    Case("zbv-deferred-receives", 3, "what torch's own defer_pp_recv makes of ZBV"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of a case: `accepts`, `rejects`, `crashes`, or `-` where it is not asked."""

    case: Case
    validate: str
    load: str
    simulate: str
    ours: str

    def cells(self) -> tuple[str, ...]:
        return self.case.name, self.validate, self.load, self.simulate, self.ours


def rows() -> Iterator[Row]:
    """Yield what torch and pipeproof say of each case."""
    for case in CASES:
        order = _order(case)
        yield Row(case, _validate(case, order), *_load_and_simulate(case, order), _ours(case))


def _order(case: Case) -> dict[int, list[Any]]:
    from torch.distributed.pipelining.schedules import _Action

    lines = case.path.read_text(encoding="utf-8").splitlines()
    return {
        rank: [_Action.from_str(cell) for cell in line.split(",")]
        for rank, line in enumerate(lines)
    }


def _stages(order: dict[int, list[Any]]) -> int:
    return 1 + max(action.stage_index for actions in order.values() for action in actions)


def _validate(case: Case, order: dict[int, list[Any]]) -> str:
    from torch.distributed.pipelining.schedules import _validate_schedule

    return _said(_validate_schedule, order, len(order), _stages(order), case.microbatches)


def _load_and_simulate(case: Case, order: dict[int, list[Any]]) -> tuple[str, str]:
    from torch.distributed.pipelining.schedules import (
        _PipelineScheduleRuntime,
        _simulate_comms_compute,
    )

    computations = all(action.is_compute_op for actions in order.values() for action in actions)
    form = "compute_only" if computations else "compute_comms"
    ranks, stages = len(order), _stages(order)
    runtime = _PipelineScheduleRuntime(mock_stages(ranks, stages // ranks), case.microbatches)
    loaded = _said(runtime._load_csv, str(case.path), format=form)
    if loaded != "accepts":
        return loaded, "-"
    # the simulator knows neither of these, in any schedule
    unknown = ("UNSHARD", "RESHARD", "REDUCE_GRAD")
    lowered = {
        rank: [action for action in actions if action.computation_type.value not in unknown]
        for rank, actions in runtime.pipeline_order_with_comms.items()
    }
    home = runtime.stage_index_to_group_rank
    return loaded, _said(_simulate_comms_compute, lowered, home.__getitem__, stages)


def _said(function: Any, *asked: object, **named: object) -> str:  # noqa: ANN401  any of torch's
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            function(*asked, **named)
        except (AssertionError, RuntimeError, ValueError):
            return "rejects"
        except (IndexError, KeyError):
            return "crashes"
    return "accepts"


def _ours(case: Case) -> str:
    """Return the code of the first violation, and under which of torch's transports."""
    text = case.path.read_text(encoding="utf-8")
    options = ReadOptions(microbatches=case.microbatches)
    verdict = judge(torch_csv.read(text, case.path.name, options)[0])
    found: dict[str, list[str]] = {}
    for transport in verdict.transports:
        first = next((each.rule for each in transport.violations if each.first), "legal")
        found.setdefault(first, []).append(transport.name)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{code} under {', '.join(names)}" for code, names in found.items())


def main() -> int:
    """Print the table."""
    try:
        import torch
        import torch.distributed.pipelining.schedules
    except ModuleNotFoundError:
        print("this example needs torch: pip install 'pipeproof[torch]'", file=sys.stderr)
        return 2
    print(f"torch {torch.__version__}: _validate_schedule, _load_csv, _simulate_comms_compute\n")
    table = [COLUMNS, *(row.cells() for row in rows())]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    for line in table:
        print("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip())
    print()
    for case in CASES:
        print(f"{case.name}: {case.wrong}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
