"""The bar of a campaign on stderr: how many tasks have ended, how fast, how many without answer."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from pipeproof.campaign.executor import Ended

__all__ = ["Hunt", "hunting"]

_EVERY = 0.1  # seconds between two changes of what is shown


class Hunt:
    """A watch of a campaign that shows a bar; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        """Look whether somebody watches."""
        self.shows = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._began = self._told = 0.0
        self._ended = self._before = self._total = self._missing = 0

    def begins(self, tasks: int, done: int) -> None:
        """Show the bar of a campaign, in place of that of the one before."""
        self._began = time.monotonic()
        self._total, self._before = tasks, done
        self._ended = self._missing = 0
        if self.shows and done < tasks:
            bar = self._shown()
            if self._task is not None:
                bar.remove_task(self._task)
            self._task = bar.add_task("hunting", total=tasks, completed=done, said=self._said(0.0))

    def ended(self, ended: "Ended") -> None:
        """Show that a task has ended."""
        self._ended += 1
        self._missing += ended.outcome != "done"
        now = time.monotonic()
        is_last = self._before + self._ended == self._total
        if self._task is None or (now - self._told < _EVERY and not is_last):
            return
        self._told = now
        at = self._before + self._ended
        self._shown().update(self._task, completed=at, said=self._said(now - self._began))

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar, self._task = None, None

    def _said(self, seconds: float) -> str:
        said = f"{self._before + self._ended:,}/{self._total:,}"
        if self._ended and seconds > 0:
            said += f", {self._ended / seconds:,.1f}/s"
        if self._missing:
            said += f", {self._missing:,} without an answer"
        return said

    def _shown(self) -> "Progress":
        if self._bar is None:
            from rich.console import Console  # noqa: PLC0415  few runs show a bar
            from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[said]}"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        return self._bar


@contextmanager
def hunting() -> Iterator[Hunt]:
    """Show how far campaigns are, so long as this lasts."""
    watch = Hunt()
    try:
        yield watch
    finally:
        watch.close()
