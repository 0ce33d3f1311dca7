"""The exceptions of pipeproof.

PipeproofError
  InputError                 the caller's file or option is wrong: exit 2, no traceback
    ParseError               a file does not parse
    MalformedScheduleError   it parses, and denies a fact that every schedule must state
    LimitError               it is larger than a named limit allows
    StoreError               a campaign's store cannot be read or written
    UsageError               an option has no such value
  UnsupportedFeatureError    the input is legal, and outside what is modelled: exit 3
  InternalError              a bug in pipeproof: exit 101, traceback kept
    ReplayMismatchError      a counterexample does not replay: exit 4
    DisagreementError        two engines find different things: exit 4

A broken rule is a verdict, never an exception.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = [
    "DisagreementError",
    "InputError",
    "InternalError",
    "LimitError",
    "MalformedScheduleError",
    "ParseError",
    "PipeproofError",
    "Problem",
    "ReplayMismatchError",
    "StoreError",
    "UnsupportedFeatureError",
    "UsageError",
    "did_you_mean",
    "printable",
]


class Problem(NamedTuple):
    """One mistake in an input: its place (1-based), what stands there, what was expected."""

    file: str
    line: int
    column: int
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.found}; {self.expected}"


class PipeproofError(Exception):
    """Base of every exception that pipeproof raises on purpose."""


class InputError(PipeproofError):
    """The caller's input is wrong; `problems` holds every mistake that was found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(" ".join(str(each).splitlines()) for each in problems))
        self.problems = tuple(problems)


class ParseError(InputError):
    """A file does not parse."""


class MalformedScheduleError(InputError):
    """A schedule denies a fact that every schedule must state."""


class LimitError(InputError):
    """An input is larger than a named limit allows."""


class StoreError(InputError):
    """The store of a campaign cannot be read or written, or is another campaign's."""


class UsageError(InputError):
    """An option has no such value."""


class UnsupportedFeatureError(PipeproofError):
    """The input is legal, and outside what pipeproof models."""


class InternalError(PipeproofError):
    """A bug in pipeproof itself."""


class ReplayMismatchError(InternalError):
    """An engine reported a counterexample that does not replay."""


class DisagreementError(InternalError):
    """Two engines were asked the same and answered differently."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `, did you mean 'x'?` for the closest of `known`, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415  only where something is wrong

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f", did you mean '{close[0]}'?" if close else ""


def printable(text: str, width: int = 60) -> str:
    """Return `text` quoted, without control characters, cut to `width` characters."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[: width + 1])
    return f"'{shown[:width]}…'" if len(text) > width else f"'{shown}'"
