"""Rows of campaigns, as their tasks would leave them in a store."""

from pipeproof.campaign.executor import Ended
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.target import Target
from pipeproof.campaign.work import perform

__all__ = ["hunted"]


def hunted(target: Target) -> list[Row]:
    """Do the tasks of a target, and those that follow."""
    rows: list[Row] = []
    for tasks in (target.tasks(), target.further(rows)):
        rows += [Row(task.key, Ended(task, "done", perform(task), "")) for task in list(tasks)]
    return rows
