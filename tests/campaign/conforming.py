"""What every executor must do; the same for workers of this machine and for those of a cluster."""

from contextlib import closing
from itertools import islice

from pipeproof.campaign.executor import Ended, Executor, Limits, Outcome, attempt
from tests.campaign.kinds import perform, squares, task

__all__ = ["LIMITS", "conforms", "loses_only", "stops_early"]

LIMITS = Limits(20.0, 1 << 30)
ENDS: dict[str, Outcome] = {
    "abort": "crashed",
    "grow": "memory",
    "hang": "timeout",
    "hog": "memory",
    "kill": "killed",
    "leave": "crashed",
    "segfault": "crashed",
    "stubborn": "timeout",
}


def by_key(ended: list[Ended]) -> dict[str, Ended]:
    found = {each.task.key: each for each in ended}
    assert len(found) == len(ended)
    return found


def conforms(executor: Executor) -> None:
    """Each task ends once, as it ends where it is called."""
    tasks = [*squares(20), *(task(kind, 3) for kind in ("raise", "half", "deep", "none such"))]
    tasks += [task("text", 300_000), task("slow", 50)]
    expected = by_key([attempt(perform, each) for each in tasks])

    assert by_key(list(executor.run(iter(tasks), LIMITS))) == expected


def loses_only(executor: Executor, kind: str) -> None:
    """A task that ends its worker, or takes more than it may, is the only one without an answer."""
    limits = {
        "hang": Limits(1.0, LIMITS.memory),
        "stubborn": Limits(1.0, LIMITS.memory),
        "grow": Limits(LIMITS.seconds, 64 << 20),
    }.get(kind, LIMITS)
    lethal = task(kind, 3)
    tasks = [*squares(6), lethal, *squares(14)[6:]]

    ended = by_key(list(executor.run(tasks, limits)))

    lost = ended.pop(lethal.key)
    assert (lost.outcome, lost.answer) == (ENDS[kind], None)
    assert lost.why
    assert list(ended.values()) == [each for each in ended.values() if each.outcome == "done"]
    assert len(ended) == 14


def stops_early(executor: Executor) -> None:
    """An executor that is closed runs no further task, and can be asked again."""
    with closing(executor.run(squares(1000), LIMITS)) as running:
        assert len(list(islice(running, 3))) == 3

    assert len(list(executor.run(squares(2), LIMITS))) == 2
