"""The file of --frontier: where explorations stand, and how they are stopped."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from pipeproof.cli._exits import Exit, TerminatedError
from pipeproof.cli._output import printable_lines
from pipeproof.errors import ParseError, Problem, UsageError
from pipeproof.ir.reading import ReadOptions, decode
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.proofs.frontiers import Kept

__all__ = ["Bookmark", "Stop", "frontier_option", "stopped_once"]

frontier_option = click.option(
    "--frontier",
    metavar="FILE",
    help="Where the explorer stands: written where a budget runs out or at Ctrl-C, taken up where "
    "it is there, removed once nothing is left. For one schedule.",
)


class Bookmark:
    """Where the exploration of one schedule stands, in a file."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        """Name the file, and the limits of what is read from it."""
        self._path, self._options = Path(path), options
        self._kept: Kept | None = None
        self._found = False

    def open(self, document: Document, asked: "Asked") -> "Kept":
        """Return the frontiers of a schedule, those in the file if it is there.

        Raises:
            UsageError: another schedule was asked for before.
            ParseError: the file holds no frontiers of this schedule.
        """
        from pipeproof.api import as_run, transports_of  # noqa: PLC0415  imported when needed
        from pipeproof.ir.canonical import digest  # noqa: PLC0415
        from pipeproof.proofs.frontiers import Kept, read  # noqa: PLC0415

        self.require_one(1 if self._kept is None else 2)
        names = ",".join(each.name for each in transports_of(document, asked))
        schedule = digest(f"{names} {as_run(document, asked)}")
        text = self._text()
        self._found = text is not None
        name = str(self._path)
        self._kept = Kept(schedule, {}) if text is None else read(text, name, schedule)
        return self._kept

    def require_one(self, schedules: int) -> None:
        """Demand that there is one schedule.

        Raises:
            UsageError: there are more, or none.
        """
        if schedules != 1:
            found = f"{schedules} schedules are asked for" if schedules else "there is no schedule"
            raise UsageError([Problem("--frontier", 1, 1, found, "name one, as FILE#0")])

    def close(self, *, stopped: bool) -> None:
        """Write what is left to be done; remove the file where nothing is.

        Raises:
            click.FileError: it cannot be written.
        """
        kept = self._kept
        if kept is None:
            return
        try:
            if kept.is_left or stopped:
                _write(self._path, kept.text)
            elif self._found:
                self._path.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no such path can be"
            raise click.FileError(printable_lines(str(self._path)), why) from error

    def _text(self) -> str | None:
        """Return what stands in the file, None where there is none."""
        name = str(self._path)
        try:
            if not self._path.exists():
                return None
            if not self._path.is_file():
                raise _refused(name, "it is no regular file")
            size = self._path.stat().st_size
            if size > self._options.limit("bytes"):
                problem = Problem(name, 1, 1, f"the file has {size} bytes", "")
                raise self._options.exceeded(problem, "bytes")
            return decode(self._path.read_bytes(), name)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no path"
            raise _refused(name, f"it cannot be read ({why})") from error


def _refused(name: str, found: str) -> ParseError:
    return ParseError([Problem(name, 1, 1, found, "name a file that can be read and written")])


def _write(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or as it was before."""
    temporary = path.with_name(f".{path.name[:99]}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


class Stop:
    """Whether the process was asked to end, and how it then ends."""

    def __init__(self) -> None:
        self.exit: Exit | None = None

    def __call__(self) -> bool:
        """Tell whether somebody has asked."""
        return self.exit is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Note a signal; raise what the second one does.

        Raises:
            KeyboardInterrupt: it is the second.
            TerminatedError: it is the second, and asks the process to terminate.
        """
        del frame
        ends = number == signal.SIGTERM
        if self.exit is not None:
            raise TerminatedError if ends else KeyboardInterrupt
        self.exit = Exit.TERMINATED if ends else Exit.INTERRUPTED


@contextmanager
def stopped_once() -> Iterator[Stop]:
    """Let the first Ctrl-C be noted and only the second one interrupt, so long as this lasts."""
    stop = Stop()
    before = {
        number: signal.signal(number, stop.note) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
