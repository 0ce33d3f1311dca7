"""How the command ends: exit codes, signals, and what a crash says."""

import signal
import sys
from enum import IntEnum
from types import FrameType

from pipeproof import __version__
from pipeproof.errors import DisagreementError, ReplayMismatchError, UnsupportedFeatureError

__all__ = ["Exit", "TerminatedError", "explained", "stop_on_sigterm", "worst"]


class Exit(IntEnum):
    """The exit codes of the command; 1 is never a crash."""

    PROVED = 0
    REFUTED = 1
    INPUT = 2
    UNKNOWN = 3
    DISTRUST = 4
    NOTHING = 5
    INTERNAL = 101
    INTERRUPTED = 130
    TERMINATED = 143


_PRECEDENCE = (Exit.INTERNAL, Exit.DISTRUST, Exit.INPUT, Exit.REFUTED, Exit.UNKNOWN)


class TerminatedError(BaseException):
    """The process was asked to end; no `Exception`, so that nobody handles it on the way."""


def stop_on_sigterm() -> None:
    """Raise `TerminatedError` in the main thread when the process is asked to end."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise TerminatedError


def worst(codes: set[Exit]) -> Exit:
    """Return the code that stands for several: 101, 4, 2, 1, 3, 0 in this order, 5 for 5 alone."""
    alone = Exit.NOTHING if codes == {Exit.NOTHING} else Exit.PROVED
    return next((code for code in _PRECEDENCE if code in codes), alone)


def explained(error: Exception) -> tuple[str, Exit]:
    """Return what is said of an error that is no mistake in an input, and the exit code for it."""
    match error:
        case UnsupportedFeatureError():
            return str(error), Exit.UNKNOWN
        case ReplayMismatchError() | DisagreementError():
            return f"do not trust this run: {error}", Exit.DISTRUST
        case _:
            return _crashed(error), Exit.INTERNAL


def _crashed(error: Exception) -> str:
    import traceback  # noqa: PLC0415  imported when needed

    where = "".join(traceback.format_exception(error)).rstrip()
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    system = f"pipeproof {__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    return (
        f"{where}\n"
        f"pipeproof: internal error: {said}\n"
        "This is a bug of pipeproof and says nothing about the schedule. Please report it with\n"
        f"the lines above, the command and the file that shows it ({system})."
    )
