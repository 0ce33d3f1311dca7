"""What is wrong with a trace, and where."""

from typing import NamedTuple

from pipeproof.errors import printable
from pipeproof.ir.recorded import Span

__all__ = ["Offence", "called"]

_LONGEST = 60


def called(name: str) -> str:
    """Return the name of an operation as a message tells it: one that is odd is quoted and cut."""
    return name if name.isprintable() and len(name) <= _LONGEST else printable(name, _LONGEST)


class Offence(NamedTuple):
    """Something that breaks a rule of traces: first the span that offends, then the other one.

    `before` is how many spans of the rank begin before it. `place` is the rank and the position,
    in the program, of the operation that it is about, None where it is about none.
    """

    why: str
    spans: tuple[Span, ...]
    rank: int
    before: int
    place: tuple[int, int] | None = None
