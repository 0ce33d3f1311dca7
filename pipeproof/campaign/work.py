"""What the tasks of a campaign do, by kind."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from pipeproof.campaign.task import Json, Task

__all__ = ["WORK", "Work", "perform", "work"]

Work = Callable[[Mapping[str, Json]], Mapping[str, Json]]
"""From the body of a task to its answer: same body, same bytes, on every machine.

No clock, and no chance but seeds in the body; budgets are counted in steps and stand there too.
"""

WORK: Mapping[str, str] = MappingProxyType(
    {
        "configured": "pipeproof.campaign.targets.configured:perform",
        "judge": "pipeproof.campaign.judged:judge",
        "minimise": "pipeproof.campaign.minimise:perform",
        "mutant": "pipeproof.campaign.mutate:perform",
        "self": "pipeproof.campaign.targets.itself:perform",
        "witnessed": "pipeproof.campaign.targets.schedule:perform",
    }
)
"""For each kind `module:function`, loaded when it is asked for: a worker needs only its own."""


def work(kind: str) -> Work:
    """Return what tasks of a kind do.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in WORK:
        message = f"no task is of kind {kind!r}; write one of {', '.join(sorted(WORK))}"
        raise ValueError(message)
    module, _, name = WORK[kind].partition(":")
    found: Work = getattr(import_module(module), name)
    return found


def perform(task: Task) -> Mapping[str, Json]:
    """Do a task and return its answer.

    Raises:
        ValueError: there is no such kind.
    """
    return work(task.kind)(task.body)
