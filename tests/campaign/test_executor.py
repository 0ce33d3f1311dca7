"""Every executor runs every task once, and a task that goes wrong is the only one that is lost."""

import time

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.campaign._local import Local
from pipeproof.campaign.executor import Ended, Executor, Limits, Perform, attempt
from pipeproof.campaign.task import Task
from tests.campaign.conforming import LIMITS, conforms, loses_only, stops_early
from tests.campaign.kinds import LETHAL, perform, squares, task

EXECUTORS: dict[str, Executor] = {
    "inline": Inline(perform),
    "one worker": Local(1, perform),
    "three workers": Local(3, perform),
}
GUARDED = {name: each for name, each in EXECUTORS.items() if name != "inline"}


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_task_ends_once_with_what_it_says(name: str) -> None:
    conforms(EXECUTORS[name])


@pytest.mark.parametrize("name", EXECUTORS)
def test_no_tasks_are_no_work(name: str) -> None:
    assert list(EXECUTORS[name].run([], LIMITS)) == []


@pytest.mark.parametrize("name", EXECUTORS)
def test_what_looks_at_the_first_answers_only_stops_the_rest(name: str) -> None:
    stops_early(EXECUTORS[name])


@pytest.mark.parametrize("kind", LETHAL)
@pytest.mark.parametrize("name", GUARDED)
def test_only_the_task_that_ends_its_worker_is_lost(name: str, kind: str) -> None:
    loses_only(GUARDED[name], kind)


def test_a_guard_leaves_no_trace_in_the_tasks_that_come_after() -> None:
    tasks = [each for n in range(8) for each in (task("hog", n), task("text", 200_000 + n))]

    ended = list(Local(1, perform).run(tasks, LIMITS))

    assert [each.outcome for each in ended] == ["memory", "done"] * 8


def test_memory_that_a_worker_has_is_not_counted_against_its_next_task() -> None:
    limits = Limits(LIMITS.seconds, 64 << 20)
    tasks = [task("keep", 40 << 20) for _ in range(4)]

    ended = list(Local(1, perform).run(tasks, limits))

    assert [each.outcome for each in ended] == ["done"] * 4


def test_workers_are_kept_from_one_task_to_the_next() -> None:
    tasks = [task("pid", n) for n in range(30)]

    pids = {str(each.answer) for each in Local(2, perform).run(tasks, LIMITS)}

    assert 1 <= len(pids) <= 2


def test_a_clock_that_is_set_forward_ends_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    real, began = time.time, time.monotonic()
    seen: list[bool] = []

    def jumps() -> float:
        seen.append(time.monotonic() - began > 1)
        return real() + 3600 * seen[-1]

    monkeypatch.setattr(time, "time", jumps)
    ended = list(Local(1, perform).run([task("slow", 1500), *squares(3)], LIMITS))

    assert any(seen)
    assert [each.outcome for each in ended] == ["done"] * 4


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers_are_refused(workers: int) -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        Local(workers, perform)


@pytest.mark.parametrize("executor", [Inline(), Local(1)], ids=["inline", "local"])
def test_what_a_task_does_stands_in_its_kind(executor: Executor) -> None:
    text = "pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n"

    ended = list(executor.run([Task("judge", {"text": text})], LIMITS))

    assert [each.outcome for each in ended] == ["done"]
    assert ended[0].answer is not None
    assert ended[0].answer["verdict"] == "proved"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("raise", "ValueError: no such luck"),
        ("half", "TypeError: float cannot stand in a task"),
        ("none such", "KeyError: 'none such'"),
    ],
)
def test_what_a_task_raises_is_why_it_has_no_answer(kind: str, why: str) -> None:
    assert attempt(perform, task(kind, 3)) == Ended(task(kind, 3), "crashed", None, why)


def test_what_is_said_of_a_crash_has_an_end() -> None:
    def loud(_: Task) -> dict[str, int]:
        raise ValueError("x" * 100_000)

    doing: Perform = loud
    assert len(attempt(doing, squares(1)[0]).why) == 500
