"""What stands behind --statistics: counts in the result, and on stderr how long it took."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from pipeproof.cli._output import complain

if TYPE_CHECKING:
    from pipeproof.verdict.result import Result

__all__ = ["Counted", "statistics_option"]

_TOLD = ("text", "json")

statistics_option = click.option(
    "--statistics",
    is_flag=True,
    help="Count what was judged, what engines took for it, and what each rule found.",
)


class Counted:
    """How a result is told with its counts, where they are asked for."""

    def __init__(self, *, wanted: bool, format_: str) -> None:
        """Begin to count the time.

        Args:
            wanted: whether counts are asked for.
            format_: in which format the result is told.
        """
        self._wanted, self._format = wanted, format_
        self._began = time.perf_counter()

    def of(self, result: "Result") -> "Result":
        """Return `result`, which holds its counts if they are wanted.

        How long it took goes to stderr, for it is no part of a result, and so do the counts where
        a format has no room for them.
        """
        if not self._wanted:
            return result
        seconds = time.perf_counter() - self._began
        if self._format not in _TOLD:
            from pipeproof.reports._statistics import statistics_lines  # noqa: PLC0415  if asked

            complain("\n".join(statistics_lines(result)))
        complain(f"judged in {seconds:.2f} s")
        return replace(result, statistics=True)
