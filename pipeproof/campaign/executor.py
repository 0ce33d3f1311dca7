"""What runs the tasks of a campaign, which guards hold, and how a task may end."""

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Literal, NamedTuple, Protocol, get_args

from pipeproof.campaign.task import Json, Task, canonical

__all__ = ["OUTCOMES", "TOO_MUCH", "Ended", "Executor", "Limits", "Outcome", "Perform", "attempt"]

Outcome = Literal["done", "killed", "timeout", "memory", "crashed"]
"""How a task ends.

done: it has an answer. killed: what ran it was ended from outside, or lost. timeout, memory: it
took more than its guard allows. crashed: it raised, or ended the process that ran it.
"""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Perform = Callable[[Task], Mapping[str, Json]]
"""What does a task: `campaign.work.perform`, or in tests another function of a module."""


class Limits(NamedTuple):
    """The outer guards of one task; budgets of the task itself stand in its body.

    `seconds` are of wall clock; `memory` is bytes of memory beyond what the worker holds when the
    task begins.
    """

    seconds: float
    memory: int


class Ended(NamedTuple):
    """A task that has ended: `answer` where it is done, else `why` it has none."""

    task: Task
    outcome: Outcome
    answer: Mapping[str, Json] | None
    why: str


class Executor(Protocol):
    """Runs tasks."""

    def run(self, tasks: Iterable[Task], limits: Limits) -> Generator[Ended, None, None]:
        """Yield each task exactly once, in the order in which they end.

        Whatever it started has ended when the iterator is exhausted, closed or raises.
        """
        ...


def attempt(perform: Perform, task: Task) -> Ended:
    """Do a task in this process; whatever it raises, but what ends the process, is its outcome."""
    try:
        answer = perform(task)
        canonical(answer)
    except MemoryError:
        return Ended(task, "memory", None, TOO_MUCH)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return Ended(task, "crashed", None, said[:_LONGEST].rstrip(": "))
    return Ended(task, "done", answer, "")


TOO_MUCH = "it asked for more memory than it may have"
_LONGEST = 500  # characters of what a task that crashed says
