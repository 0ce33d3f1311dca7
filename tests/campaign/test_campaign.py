"""A campaign runs what is not done, each task once, and its report is the same in any order."""

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from random import Random

import pytest

from pipeproof.campaign._inline import Inline
from pipeproof.campaign._local import Local
from pipeproof.campaign.campaign import WHOLE, Ran, Shard, campaign
from pipeproof.campaign.executor import Ended, Executor, Limits
from pipeproof.campaign.store import Store
from pipeproof.campaign.task import Task
from tests.campaign.conforming import LIMITS
from tests.campaign.driven import judging, report
from tests.campaign.kinds import perform, squares, task


class Seen:
    """Remembers what an executor is given, and what the watch is told."""

    def __init__(self, executor: Executor | None = None) -> None:
        self.executor = executor or Inline(perform)
        self.given: list[Task] = []
        self.told: list[object] = []

    def run(self, tasks: Iterable[Task], limits: Limits) -> Generator[Ended, None, None]:
        listed = list(tasks)
        self.given += listed
        yield from self.executor.run(listed, limits)

    def begins(self, tasks: int, done: int) -> None:
        self.told.append((tasks, done))

    def ended(self, ended: Ended) -> None:
        self.told.append(ended.task)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[str], Store]:
    return lambda name: Store.open(tmp_path / name, {"seed": 1})


def test_what_is_done_is_not_run_again(opened: Callable[[str], Store]) -> None:
    seen = Seen()
    with opened("a") as store:
        first = campaign(squares(4), store, Inline(perform), LIMITS)
        again = campaign(squares(6), store, seen, LIMITS, watch=seen)

    assert (first.tasks, first.before, first.missing) == (4, 0, 0)
    assert (again.tasks, again.before, again.missing) == (6, 4, 0)
    assert seen.given == squares(6)[4:]
    assert seen.told == [(6, 4), *squares(6)[4:]]


def test_what_hit_a_guard_is_told_as_missing_and_run_again(opened: Callable[[str], Store]) -> None:
    tasks = [*squares(3), task("kill"), task("raise")]
    seen = Seen()
    with opened("a") as store:
        ran = campaign(tasks, store, Local(2, perform), LIMITS)
        campaign([*squares(3), task("raise")], store, seen, LIMITS)

        assert ran.missing == 2
        assert store.counts() == {"done": 3, "killed": 1, "timeout": 0, "memory": 0, "crashed": 1}
    assert seen.given == [task("raise")]


def test_a_task_that_is_listed_twice_is_run_once(opened: Callable[[str], Store]) -> None:
    seen = Seen()
    with opened("a") as store:
        ran = campaign([*squares(3), *squares(2)], store, seen, LIMITS)

    assert (ran.tasks, seen.given) == (3, squares(3))


def test_nothing_left_to_do_asks_no_executor(opened: Callable[[str], Store]) -> None:
    class Never:
        def run(self, tasks: Iterable[Task], limits: Limits) -> Generator[Ended, None, None]:
            raise AssertionError

    with opened("a") as store:
        assert campaign([], store, Never(), LIMITS).tasks == 0


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_each_task_is_of_one_shard(of: int) -> None:
    keys = [each.key for each in squares(200)]
    held = [[key for key in keys if Shard(n, of).holds(key)] for n in range(1, of + 1)]

    assert sorted(key for part in held for key in part) == sorted(keys)
    assert all(held)


def test_the_report_is_the_same_for_any_workers_order_shards_and_interruptions(
    opened: Callable[[str], Store],
) -> None:
    tasks = judging(9)
    shuffled = Random(1).sample(tasks, len(tasks))
    with opened("whole") as whole, opened("workers") as workers, opened("merged") as merged:
        ran = campaign(tasks, whole, Inline(), LIMITS)
        campaign(shuffled[:3], workers, Local(1), LIMITS)
        assert campaign(shuffled, workers, Local(3), LIMITS)._replace(before=0) == ran
        for number in (1, 2, 3):
            with opened(str(number)) as part:
                campaign(tasks, part, Inline(), LIMITS, Shard(number, 3))
                merged.merge(part)

        assert report(workers) == report(whole) == report(merged)
        assert ran.missing == 0


def test_which_list_of_tasks_it_was_is_told(opened: Callable[[str], Store]) -> None:
    with opened("a") as store:
        digests = [
            campaign(tasks, store, Inline(perform), LIMITS).tasks_digest
            for tasks in (squares(3), squares(3)[::-1], squares(4))
        ]

    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("tells", [0, 1, 3])
def test_a_watch_whose_pipe_is_closed_does_not_end_the_campaign(
    opened: Callable[[str], Store], tells: int
) -> None:
    class Closed(Seen):
        def begins(self, tasks: int, done: int) -> None:
            self.tell((tasks, done))

        def ended(self, ended: Ended) -> None:
            self.tell(ended.task)

        def tell(self, what: object) -> None:
            if len(self.told) == tells:
                raise BrokenPipeError
            self.told.append(what)

    watch = Closed()
    with opened("a") as store:
        ran = campaign(squares(9), store, Inline(perform), LIMITS, watch=watch)

    assert ran == Ran(9, 0, 0, ran.tasks_digest)
    assert len(watch.told) == tells


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_ends_a_campaign_early_leaves_what_was_told_in_the_store(
    opened: Callable[[str], Store], error: type[BaseException]
) -> None:
    class Ending(Seen):
        def ended(self, ended: Ended) -> None:
            super().ended(ended)
            if len(self.told) == 5:
                raise error

    watch = Ending()
    with opened("a") as store:
        with pytest.raises(error):
            campaign(squares(50), store, Local(2, perform), LIMITS, WHOLE, watch)
        done = store.done()

    assert {each.key for each in watch.told if isinstance(each, Task)} == done
    assert len(done) == 4
