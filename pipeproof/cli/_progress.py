"""A progress bar on stderr, where somebody watches and it takes a while."""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["counted"]

_MANY = 20
_AFTER = 1.0  # seconds

_T = TypeVar("_T")


def counted(items: Sequence[_T]) -> Iterator[_T]:
    """Yield `items`, with a bar on stderr where that is a terminal and there is much to do."""
    if not sys.stderr.isatty() or len(items) <= 1:
        yield from items
        return
    began = time.monotonic()
    for i, item in enumerate(items):
        if len(items) > _MANY or time.monotonic() - began > _AFTER:
            yield from _with_bar(items[i:], i, len(items))
            return
        yield item


def _with_bar(items: Sequence[_T], before: int, total: int) -> Iterator[_T]:
    from rich.console import Console  # noqa: PLC0415  few runs show a bar
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("judging", total=total, completed=before)
        for item in items:
            yield item
            progress.advance(task)
