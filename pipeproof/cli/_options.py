"""Options that several subcommands share, and what they mean."""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TypedDict, TypeVar

import click

from pipeproof.errors import did_you_mean, printable
from pipeproof.ir.reading import LIMITS, ReadOptions

if TYPE_CHECKING:
    from pipeproof.api import Asked

__all__ = ["Asking", "Reading", "asked", "asking_options", "read_options", "reading_options"]


class Reading(TypedDict):
    """What the options of `reading_options` hold."""

    profile: str | None
    microbatches: int | None
    stages: int | None
    limit: tuple[str, ...]


class Asking(Reading):
    """What the options of `asking_options` and `reading_options` hold."""

    transport: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    engine: str


_F = TypeVar("_F", bound=Callable[..., int])
_MOST = 1 << 40
_COUNT = click.IntRange(min=1, max=2**31 - 1)


def reading_options(function: _F) -> _F:
    """Add the options that say how a file is read."""
    for option in (
        click.option("--limit", multiple=True, metavar="NAME=N", help="Raise a limit of input."),
        click.option(
            "--stages", type=_COUNT, metavar="N", help="Number of stages, instead of the file's."
        ),
        click.option(
            "--microbatches",
            type=_COUNT,
            metavar="N",
            help="Microbatches in one step, instead of the file's.",
        ),
        click.option("--profile", metavar="NAME|none", help="A runtime's rules and transports."),
    ):
        function = option(function)
    return function


def asking_options(function: _F) -> _F:
    """Add the options that say what is judged."""
    for option in (
        click.option("--ignore", multiple=True, metavar="PREFIX", help="Leave out these rules."),
        click.option("--select", multiple=True, metavar="PREFIX", help="Judge these rules only."),
        click.option(
            "--transport", multiple=True, metavar="NAME", help="Judge under this transport instead."
        ),
    ):
        function = option(function)
    return function


def read_options(values: Reading) -> ReadOptions:
    """Return how files are read.

    Raises:
        click.BadParameter: a limit has no such name, or is no whole number.
    """
    limits: dict[str, int] = {}
    for each in values["limit"]:
        name, _, amount = each.partition("=")
        if name not in LIMITS:
            _refuse("--limit", name, LIMITS)
        number = int(amount) if amount.isascii() and amount.isdecimal() else 0
        if not 0 < number < _MOST:
            said = f"{printable(amount)} is no limit; write {name}=N, a whole number from 1"
            raise click.BadParameter(said, param_hint="--limit")
        limits[name] = number
    return ReadOptions(
        microbatches=values["microbatches"],
        stages=values["stages"],
        profile=values["profile"],
        limits=MappingProxyType(limits),
    )


def asked(values: Asking) -> "Asked":
    """Return what is judged.

    Raises:
        click.BadParameter: a transport or rule has no such name.
    """
    from pipeproof.api import Asked  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.ir.codes import CODES  # noqa: PLC0415
    from pipeproof.ir.transport import names  # noqa: PLC0415

    known = names()
    for name in values["transport"]:
        if name not in known:
            _refuse("--transport", name, known)
    for option, prefixes in (("--select", values["select"]), ("--ignore", values["ignore"])):
        for prefix in prefixes:
            if not any(code.startswith(prefix) for code in CODES):
                _refuse(option, prefix, CODES)
    return Asked(
        transports=values["transport"],
        profile=values["profile"],
        select=values["select"],
        ignore=values["ignore"],
        engine=values["engine"],
    )


def _refuse(option: str, word: str, known: Iterable[str]) -> NoReturn:
    listed = list(known)
    said = f"{printable(word)}; known: {', '.join(listed)}{did_you_mean(word, listed)}"
    raise click.BadParameter(said, param_hint=option)
