"""A campaign: the tasks that are not done yet, run by an executor, into a store."""

import hashlib
from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple, Protocol

from pipeproof.campaign.executor import Ended, Executor, Limits
from pipeproof.campaign.store import Store
from pipeproof.campaign.task import Task

__all__ = ["UNWATCHED", "WHOLE", "Ran", "Shard", "Watch", "campaign"]


class Shard(NamedTuple):
    """The part `number` of `of`, counted from 1, of a list of tasks."""

    number: int
    of: int

    def holds(self, key: str) -> bool:
        """Return whether the task with this key is of this part: each is of exactly one."""
        return int(key[:8], 16) % self.of == self.number - 1


WHOLE = Shard(1, 1)
"""All of a list of tasks."""


class Watch(Protocol):
    """Is told how far a campaign is; one that raises OSError is told nothing more."""

    def begins(self, tasks: int, done: int) -> None:
        """Take how many tasks there are, and how many of them are done already."""
        ...

    def ended(self, ended: Ended) -> None:
        """Take a task that has ended, after the store has acknowledged it."""
        ...


class Ran(NamedTuple):
    """What became of a campaign that ran to its end.

    Attributes:
        tasks: how many different tasks there are, in this shard.
        before: how many of them were done when it began.
        missing: of how many there is no answer now, because a guard was hit or a worker lost.
        tasks_digest: SHA-256 of the keys of the tasks, sorted: which list of tasks it was.
    """

    tasks: int
    before: int
    missing: int
    tasks_digest: str


class _Unwatched:
    def begins(self, tasks: int, done: int) -> None:
        """Do nothing."""

    def ended(self, ended: Ended) -> None:
        """Do nothing."""


UNWATCHED: Watch = _Unwatched()
"""Where nobody watches."""


def campaign(  # noqa: PLR0913, PLR0917  what a campaign needs, all of it
    tasks: Iterable[Task],
    store: Store,
    executor: Executor,
    limits: Limits,
    shard: Shard = WHOLE,
    watch: Watch = UNWATCHED,
) -> Ran:
    """Run the tasks of a shard that the store does not hold as done, and put them into the store.

    Each task stands in the store before the watch is told. Whatever ends this call early, the
    store holds all that was acknowledged, and what the executor started has ended.

    Raises:
        StoreError: the store cannot be written.
    """
    every = {task.key: task for task in tasks}
    mine = {key: task for key, task in every.items() if shard.holds(key)}
    done = store.done() & mine.keys()
    told = _Telling(watch)
    told.begins(len(mine), len(done))
    left = [task for key, task in mine.items() if key not in done]
    if left:
        with closing(executor.run(left, limits)) as ending:
            for ended in ending:
                store.put(ended)
                told.ended(ended)
    missing = len(mine) - len(store.done() & mine.keys())
    return Ran(len(mine), len(done), missing, _digest(mine))


class _Telling:
    """Tells a watch until it cannot be told: a closed pipe must not end a campaign."""

    def __init__(self, watch: Watch) -> None:
        self.watch: Watch = watch

    def begins(self, tasks: int, done: int) -> None:
        try:
            self.watch.begins(tasks, done)
        except OSError:
            self.watch = UNWATCHED

    def ended(self, ended: Ended) -> None:
        try:
            self.watch.ended(ended)
        except OSError:
            self.watch = UNWATCHED


def _digest(keys: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(keys)).encode("ascii")).hexdigest()
