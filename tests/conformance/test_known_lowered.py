"""Every known schedule is legal as torch lowers it; deferred receives are where they are not."""

import dataclasses
from collections.abc import Iterator

import pytest

from pipeproof import api, schedules
from pipeproof.errors import UsageError
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, Marks
from pipeproof.verdict.verdict import FileVerdict

FIXED = {"1f1b": (1,), "gpipe": (1,), "forward_only": (1,), "zbv": (2,), "dualpipev": (2,)}
TRANSPORTS = ("nccl-lazy", "nccl-first", "nccl-eager", "nccl-small", "gloo", "rendezvous")
Shape = tuple[int, int, int]


def judged(schedule: Schedule, *transports: str) -> FileVerdict:
    size = len(schedule.operations)
    document = Document("known", schedule, Marks((1,) * size, (1,) * size))
    return api.judge(document, api.Asked(transports=transports))


def shapes(name: str, ranks: range, microbatches: int) -> Iterator[Shape]:
    """Yield ranks, stages a rank and microbatches up to `microbatches` times the ranks."""
    for rank in ranks:
        for stages in FIXED.get(name, (1, 2, 3, 4)):
            for count in range(1, microbatches * rank + 1):
                yield rank, stages, count


def made(name: str, shape: Shape) -> Schedule | None:
    """Generate a schedule; None where its class refuses the shape."""
    ranks, stages, count = shape
    try:
        return schedules.generate(
            name, ranks=ranks, microbatches=count, stages_per_rank=stages if stages > 1 else None
        )
    except UsageError:
        return None


def proves(name: str, chosen: list[Shape]) -> int:
    """Judge the shapes; return how many the schedule takes."""
    taken = 0
    for shape in chosen:
        schedule = made(name, shape)
        if schedule is None:
            continue
        taken += 1
        assert judged(schedule, *TRANSPORTS).verdict == "proved", (name, shape)
    return taken


@pytest.mark.parametrize("name", schedules.names())
def test_a_known_schedule_is_legal_as_lowered(name: str) -> None:
    assert proves(name, list(shapes(name, range(1, 5), 4))[::9]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", schedules.names())
def test_a_known_schedule_is_legal_as_lowered_on_the_whole_grid(name: str) -> None:
    assert proves(name, list(shapes(name, range(1, 9), 4))) > 0


@pytest.mark.parametrize("microbatches", [3, 4])
@pytest.mark.parametrize("name", ["interleaved_zero_bubble", "zbv"])
def test_deferred_receives_cross_messages(name: str, microbatches: int) -> None:
    """With two ranks gloo delivers a tensor in the place of another: training goes on, wrong."""
    made = schedules.generate(name, ranks=2, microbatches=microbatches, stages_per_rank=2)
    deferred = dataclasses.replace(made, lowering="torch-deferred")

    verdict = judged(deferred, "gloo")

    assert (verdict.verdict, verdict.first_rule) == ("refuted", "PP202")
    assert verdict.lowering == "torch-deferred"


def test_deferred_receives_leave_sends_that_face_each_other() -> None:
    made = schedules.generate("interleaved_1f1b", ranks=2, microbatches=3)
    deferred = dataclasses.replace(made, lowering="torch-deferred")

    assert judged(deferred, "nccl-lazy").first_rule == "PP301"
