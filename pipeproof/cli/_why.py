"""Places at which it is explained why what is proved holds: what stands behind --why."""

import re
from collections.abc import Iterable

import click

from pipeproof.errors import printable

__all__ = ["places", "why_option"]

_FIRST = "first"
_PLACE = re.compile(r"r(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")

why_option = click.option(
    "--why",
    multiple=True,
    metavar="PLACE",
    help="Explain what makes the instruction at PLACE (r1.5: rank and position) safe; first: the "
    "first few pairs that only what ranks wait for orders.",
)


def places(written: Iterable[str]) -> tuple[tuple[int, int], ...] | None:
    """Return the places asked for, none for the first few pairs, None where nothing is asked.

    Raises:
        click.BadParameter: one is no place.
    """
    words = list(dict.fromkeys(written))
    if not words:
        return None
    found = [_PLACE.fullmatch(word) for word in words if word != _FIRST and word.isascii()]
    named = [(int(each[1]), int(each[2])) for each in found if each is not None]
    if len(named) + (_FIRST in words) != len(words):
        wrong = next(w for w in words if w != _FIRST and not (w.isascii() and _PLACE.fullmatch(w)))
        said = f"{printable(wrong)} is no place; write r1.5, rank and position, or {_FIRST}"
        raise click.BadParameter(said, param_hint="--why")
    if named and _FIRST in words:
        said = f"write places or {_FIRST}, not both"
        raise click.BadParameter(said, param_hint="--why")
    return tuple(named)
