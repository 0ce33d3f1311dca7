"""`--trace`: writes when what was run began and ended, as `conform` reads it."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from pipeproof.cli._output import complain, emit
from pipeproof.ir.recorded import MICROSECOND, Recorded, Span

if TYPE_CHECKING:
    from pipeproof.semantics.model import Model

__all__ = ["Recorder", "recorder_of", "trace_option"]

_F = TypeVar("_F", bound=Callable[..., object])
_NANOSECOND = MICROSECOND // 1000
_NOTHING = "no trace was written: nothing whose times are known ran to its end"
_CHOICES = "no trace was written: the runtime chooses in this schedule what it runs"


class _Values(Protocol):
    def __getitem__(self, key: str) -> object: ...


def trace_option(command: _F) -> _F:
    """Add the option that names the file of a trace."""
    return click.option(
        "--trace",
        metavar="FILE",
        help="Write when operations began and ended there, as Chrome's trace events.",
    )(command)


def recorder_of(values: "_Values") -> "Recorder":
    """Return what takes the times of a run; without --trace it takes none."""
    path = values["trace"]
    return Recorder(path if isinstance(path, str) else None)


class Recorder:
    """Takes the times of runs under one transport, the first that runs, each run a step."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.transport: str | None = None
        self._spans: list[Span] = []
        self._chooses = False

    def watched(self, events: Iterable[int], models: "Sequence[Model]") -> Iterable[int]:
        """Return events that are run one after the other as they are asked for, and note when."""
        return events if self.path is None else self._watched(events, models)

    def _watched(self, events: Iterable[int], models: "Sequence[Model]") -> Iterator[int]:
        begins: dict[int, int] = {}
        moments = []
        for event in events:
            before = time.monotonic_ns()
            yield event
            if event % 2:
                begun = begins.get(event - 1, before)
                moments.append((event // 2, begun, time.monotonic_ns()))
            else:
                begins[event] = before
        last = models[0].frame.instructions
        self.take(models, [each for each in moments if each[0] < last])

    def take(self, models: "Sequence[Model]", moments: Iterable[tuple[int, int, int]]) -> None:
        """Take a run: its instructions, and when they began and ended in nanoseconds."""
        if self.path is None or not models:
            return
        self._chooses = self._chooses or len(models) > 1
        frame = models[0].frame
        texts = (
            (int(frame.instruction_rank[i]), frame.instruction_text(i), begun, ended)
            for i, begun, ended in sorted(moments)
        )
        self.take_named(texts, frame.transport.name)

    def take_named(self, named: Iterable[tuple[int, str, int, int]], transport: str) -> None:
        """Take a run: rank and name of operations, and when they began and ended."""
        found = [
            Span(rank, name, begun * _NANOSECOND, ended * _NANOSECOND)
            for rank, name, begun, ended in named
        ]
        if self.path is None or not found or self.transport not in (None, transport):
            return
        self.transport = transport
        self._spans += found

    def write(self, runs_on: str) -> None:
        """Write the file, whole or not at all; say on stderr where there is nothing to write.

        Raises:
            click.FileError: it cannot be written.
        """
        from pipeproof.reports._recording import recording  # noqa: PLC0415  when needed

        if self.path is None:
            return
        if self._chooses or not self._spans:
            complain(_CHOICES if self._chooses else _NOTHING)
            return
        first = min(span.start for span in self._spans)
        spans = (
            span._replace(start=span.start - first, end=span.end - first) for span in self._spans
        )
        recorded = Recorded(tuple(spans), together=True, runs_on=runs_on)
        emit(recording(recorded, transport=self.transport or ""), self.path)
