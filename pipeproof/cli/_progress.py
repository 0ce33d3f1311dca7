"""Progress bars on stderr, where somebody watches and it takes a while."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Watch", "counted", "watching"]

_MANY = 20
_AFTER = 1.0  # seconds
_EVERY = 0.1  # seconds between two changes of what is shown

_T = TypeVar("_T")


class Watch:
    """What is shown of how far the command is; nothing where stderr is no terminal.

    `states` is how far an exploration may go, None where that is not said.
    """

    def __init__(self) -> None:
        """Look whether somebody watches."""
        self.shows = sys.stderr.isatty()
        self.states: int | None = None
        self._progress: Progress | None = None
        self._exploring: TaskID | None = None
        self._began = self._told = time.monotonic()

    def counted(self, items: Sequence[_T]) -> Iterator[_T]:
        """Yield `items`, with a bar where there is much to do."""
        if not self.shows or len(items) <= 1:
            yield from items
            return
        for i, item in enumerate(items):
            if len(items) > _MANY or time.monotonic() - self._began > _AFTER:
                yield from self._with_bar(items[i:], i, len(items))
                return
            yield item

    def explored(self, states: int, layer: int) -> None:
        """Show how many states the explorer has seen, and the layer that it is in."""
        now = time.monotonic()
        if not self.shows or now - self._began < _AFTER or now - self._told < _EVERY:
            return
        self._told = now
        bars = self._bars()
        if self._exploring is None:
            self._exploring = bars.add_task("exploring", total=self.states, said="")
        said = f"{states:,} states, layer {layer}"
        bars.update(self._exploring, completed=states, said=said)

    def close(self) -> None:
        """Take away what is shown."""
        if self._progress is not None:
            self._progress.stop()

    def _with_bar(self, items: Sequence[_T], before: int, total: int) -> Iterator[_T]:
        bars = self._bars()
        task = bars.add_task("judging", total=total, completed=before, said=f"{before}/{total}")
        for done, item in enumerate(items, before + 1):
            yield item
            if self._exploring is not None:
                bars.remove_task(self._exploring)
                self._exploring = None
            bars.update(task, completed=done, said=f"{done}/{total}")

    def _bars(self) -> "Progress":
        if self._progress is None:
            from rich.console import Console  # noqa: PLC0415  few runs show a bar
            from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[said]}"),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self._progress


@contextmanager
def watching() -> Iterator[Watch]:
    """Show how far the command is, so long as this lasts."""
    watch = Watch()
    try:
        yield watch
    finally:
        watch.close()


def counted(items: Sequence[_T]) -> Iterator[_T]:
    """Yield `items`, with a bar where somebody watches and there is much to do."""
    with watching() as watch:
        yield from watch.counted(items)
