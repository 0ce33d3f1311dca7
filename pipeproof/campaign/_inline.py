"""Tasks done one after the other in this process, without guards."""

from collections.abc import Generator, Iterable

from pipeproof.campaign.executor import Ended, Limits, Perform, attempt
from pipeproof.campaign.task import Task
from pipeproof.campaign.work import perform as by_kind

__all__ = ["Inline"]


class Inline:
    """Does tasks where it is called: for tests, and for tasks that are known to be small.

    No guard of time or memory holds, and a task that ends the process ends the campaign.
    """

    def __init__(self, perform: Perform = by_kind) -> None:
        self.perform = perform

    def run(self, tasks: Iterable[Task], limits: Limits) -> Generator[Ended, None, None]:
        """Yield the tasks in their order."""
        for task in tasks:
            yield attempt(self.perform, task)
