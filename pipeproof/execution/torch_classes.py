"""The orders that a schedule class of torch prints, read without torch where an object is there.

`python -m pipeproof.execution.torch_classes MODULE:NAME RANKS MICROBATCHES STAGES_PER_RANK [COSTS]`
builds one of the caller's own with stages that only say where they are, and prints `Orders` as
JSON. COSTS is a JSON object, times by kind of operation as texts or lists of them, one a stage; it
is given on as `costs`, with numbers for texts.

Source: torch 2.13.0, `torch/distributed/pipelining/schedules.py`: `pipeline_order`,
`pipeline_order_with_comms`, and what the constructors read of a stage.
"""

import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from inspect import isclass
from typing import Any, NoReturn, TypedDict

__all__ = ["MockStage", "Orders", "main", "mock_stages", "orders_of"]

_COMPUTE = ("F", "B", "I", "W", "OVERLAP_F_B")
_PRINTED = (
    "torch prints an order of 1F1B whose last rank counts forwards from 1; what its loop executes "
    "is judged, profile 'torch-single'"
)
_LOOP = "torch executes the loop of GPipe, profile 'torch-single'"
_OTHER = "a loop of its own executes it; what it prints is judged as torch's runtime runs it"
_SLOTS = "torch executes it slot by slot, profile 'torch-multi'"
_LOWERED = "the order with messages that torch made is judged"


class MockStage:
    """What the constructor of a schedule reads of a stage: how many there are, on how many ranks.

    It computes nothing and needs no process group.
    """

    def __init__(self, stages: int, ranks: int, index: int = 0) -> None:
        self.num_stages = stages
        self.group_size = ranks
        self.group_rank = 0
        self.stage_index = index
        self.is_first = index == 0
        self.is_last = index == stages - 1
        self.has_backward = True
        self.submod = None


class Orders(TypedDict):
    """What each rank executes, as torch writes it, an empty text for a bubble."""

    rows: list[list[str]]
    microbatches: int | None
    stages: int | None
    profile: str | None
    notes: list[str]


def mock_stages(ranks: int, stages_per_rank: int = 1) -> "list[Any]":
    """Return the stages of rank 0, for the constructor of a schedule class."""
    stages = ranks * stages_per_rank
    return [MockStage(stages, ranks, turn * ranks) for turn in range(stages_per_rank)]


def orders_of(schedule: object) -> Orders:
    """Return the order of each rank of a schedule of torch, or of a mapping from rank to actions.

    The order with messages is taken where there is one. A REDUCE_GRAD that stands among
    computations only, as GPipe and 1F1B print it, is left to lowering.

    Raises:
        ValueError: it holds no order, or not one for each rank.
    """
    plain = schedule if isinstance(schedule, Mapping) else _order(schedule, "pipeline_order")
    made = _order(schedule, "pipeline_order_with_comms")
    profile, note = _runtime(schedule, lowered=bool(made))
    microbatches, stages = _count(schedule, "_n_microbatches"), _count(schedule, "_num_stages")
    if note is _PRINTED and microbatches and stages:
        rows = _executed(stages, microbatches)
    else:
        rows = _rows(made or plain)
        rows = rows if made else _without_reductions(rows)
    notes = [] if note is None else [note]
    return Orders(rows=rows, microbatches=microbatches, stages=stages, profile=profile, notes=notes)


def _order(schedule: object, name: str) -> Mapping[object, object]:
    found = getattr(schedule, name, None)
    return found if isinstance(found, Mapping) else {}


def _rows(order: Mapping[Any, Any]) -> list[list[str]]:
    if sorted(map(str, order)) != sorted(map(str, range(len(order)))) or not order:
        said = f"ranks {', '.join(map(str, order)) or 'nowhere'}"
        message = f"an order of actions for each rank from 0 is expected, and stands for {said}"
        raise ValueError(message)
    return [
        _row(rank, actions)
        for rank, actions in sorted(order.items(), key=lambda item: int(item[0]))
    ]


def _row(rank: object, actions: object) -> list[str]:
    if not isinstance(actions, Sequence) or isinstance(actions, str | bytes):
        message = f"a list of actions is expected for rank {rank}"
        raise ValueError(message)  # noqa: TRY004  a wrong order, as the others
    row = ["" if action is None else str(action) for action in actions]
    for cell in row:
        if any(mark in cell for mark in ',\n\r"'):
            message = (
                f"one action a place is expected for rank {rank}, and {cell[:40]!r} stands there"
            )
            raise ValueError(message)
    return row


def _without_reductions(rows: list[list[str]]) -> list[list[str]]:
    kinds = {cell.strip("0123456789") for row in rows for cell in row if not cell.startswith("(")}
    if not kinds <= {"", *_COMPUTE, "REDUCE_GRAD"}:
        return rows
    return [[cell for cell in row if not cell.endswith("REDUCE_GRAD")] for row in rows]


def _count(schedule: object, name: str) -> int | None:
    found = getattr(schedule, name, None)
    return found if type(found) is int and found > 0 else None


def _runtime(schedule: object, *, lowered: bool) -> tuple[str | None, str | None]:
    """Return the profile of what executes a schedule, None for torch's runtime, and a note."""
    if isinstance(schedule, Mapping):
        return None, None
    if lowered:
        return None, _LOWERED
    bases = {base.__name__ for base in type(schedule).__mro__}
    if "Schedule1F1B" in bases:
        return "torch-single", _PRINTED
    if "ScheduleGPipe" in bases:
        return "torch-single", _LOOP
    if "PipelineScheduleMulti" in bases:
        return "torch-multi", _SLOTS
    return None, _OTHER


def _executed(stages: int, microbatches: int) -> list[list[str]]:
    """Return what the loop of 1F1B executes on each rank."""
    rows = []
    for stage in range(stages):
        warmup = min(microbatches, stages - stage)
        row = [f"{stage}F{m}" for m in range(warmup)]
        for m in range(microbatches):
            row.append(f"{stage}B{m}")
            if warmup + m < microbatches:
                row.append(f"{stage}F{warmup + m}")
        rows.append(row)
    return rows


def main(argv: Sequence[str]) -> NoReturn:
    """Print the orders of the class, function or object that `argv` names, or why there are none.

    What the caller's module prints goes to stderr.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, ranks, microbatches, stages_per_rank, *costs = argv
    try:
        given = {"costs": _numbers(json.loads(costs[0]))} if costs else {}
        made = _built(name, int(ranks), int(microbatches), int(stages_per_rank), given)
        said: object = orders_of(made)
        json.dumps(said)
    except BaseException as error:  # from the caller's module
        lines = str(error).strip().splitlines() or ["it says nothing"]
        said = {"error": f"{type(error).__name__}: {lines[0]}"}
    json.dump(said, out)
    out.close()
    os._exit(0)  # threads that the caller's module started do not keep it


def _numbers(costs: Mapping[str, str | list[str]]) -> dict[str, float | list[float]]:
    """Return costs with numbers where texts stand."""
    return {
        kind: float(each) if isinstance(each, str) else [float(time) for time in each]
        for kind, each in costs.items()
    }


def _built(
    name: str, ranks: int, microbatches: int, stages_per_rank: int, given: Mapping[str, object]
) -> object:
    """Return the schedule: made by a class or a function, or the object of that name."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found) or (not isclass(found) and hasattr(found, "pipeline_order")):
        return found
    stages = mock_stages(ranks, stages_per_rank)
    bases = {base.__name__ for base in found.__mro__} if isclass(found) else set()
    first = stages[0] if "PipelineScheduleSingle" in bases else stages
    return found(first, microbatches, **given)


if __name__ == "__main__":
    main(sys.argv[1:])
