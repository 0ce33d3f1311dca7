"""The loops of GPipe and 1F1B, held to traces of torch's own."""

import dataclasses
import json
from pathlib import Path

import pytest

from pipeproof import api, schedules
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, Marks
from pipeproof.lowering.lower import lower
from pipeproof.verdict.verdict import FileVerdict

TRACES = sorted((Path(__file__).parents[1] / "data/torch/traces").glob("*.json"))
NAMES = {"1F1B": "1f1b", "GPipe": "gpipe"}
Call = str | tuple[str, tuple[str, ...]]


def single(name: str, ranks: int, microbatches: int) -> Schedule:
    made = schedules.generate(name, ranks=ranks, microbatches=microbatches)
    return dataclasses.replace(made, lowering="torch-single", profile="torch-single")


def calls(schedule: Schedule, rank: int) -> list[Call]:
    """The calls of a rank: computations, groups of messages, and waits for them."""
    ops = lower(schedule).spelled
    groups: dict[int, tuple[str, ...]] = {}
    found: list[Call] = []
    for row in range(len(ops)):
        if ops.rank[row] != rank:
            continue
        handle = int(ops.handle[row])
        if ops.kind[row] == Kind.WAIT:
            found.append(("WAIT", groups[handle]))
        elif handle < 0:
            found.append(ops.text(row))
        else:
            if handle in groups:
                found.pop()
            groups[handle] = (*groups.get(handle, ()), ops.text(row).split()[0])
            found.append(("GROUP", groups[handle]))
    return found


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_loop_makes_the_calls_that_torch_makes(path: Path) -> None:
    trace = json.loads(path.read_text())
    made = single(NAMES[trace["schedule"]], trace["ranks"], trace["microbatches"])

    for rank, said in enumerate(trace["ranks_trace"]):
        expected = [each if isinstance(each, str) else (each[0], tuple(each[1])) for each in said]
        assert calls(made, rank) == expected


def test_there_are_traces_to_compare_with() -> None:
    assert len(TRACES) == 16


def _judged(schedule: Schedule, *transports: str) -> FileVerdict:
    size = len(schedule.operations)
    document = Document("made", schedule, Marks((1,) * size, (1,) * size))
    return api.judge(document, api.Asked(transports=transports))


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_the_loops_are_legal_under_every_transport_of_torch(name: str) -> None:
    assert _judged(single(name, 4, 8)).verdict == "proved"


def test_1f1b_with_fewer_microbatches_than_stages_splits_messages_over_communicators() -> None:
    """Messages stand in a call with another at one end only, which is why torch refuses it."""
    verdict = _judged(single("1f1b", 4, 2), "nccl-lazy", "nccl-eager", "gloo")

    lazy, eager, gloo = verdict.transports
    assert "PP204" in {violation.rule for violation in lazy.violations}
    assert (eager.outcome.value, gloo.outcome.value) == ("proved", "proved")


def test_another_order_has_no_loop() -> None:
    made = schedules.generate("looped_bfs", ranks=2, microbatches=2, stages_per_rank=2)

    with pytest.raises(UnsupportedFeatureError, match="GPipe and 1F1B"):
        lower(dataclasses.replace(made, lowering="torch-single"))


def test_one_microbatch_is_the_order_of_both_loops() -> None:
    with pytest.raises(UnsupportedFeatureError, match="two loops"):
        lower(single("1f1b", 2, 1))
