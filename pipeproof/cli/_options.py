"""Options that several subcommands share, and what they mean."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, NotRequired, TypedDict, TypeVar

import click

from pipeproof.errors import did_you_mean, printable
from pipeproof.ir.reading import LIMITS, LOWERINGS, ReadOptions

if TYPE_CHECKING:
    from pipeproof.api import Asked

__all__ = [
    "COUNT",
    "LOWERING",
    "Asking",
    "Reading",
    "asked",
    "asking_options",
    "limit_option",
    "limits",
    "own_options",
    "read_options",
    "reading_options",
    "transport_option",
]


class Reading(TypedDict):
    """What the options of `reading_options` hold."""

    lowering: str | None
    profile: str | None
    microbatches: int | None
    stages: int | None
    limit: tuple[str, ...]


class Asking(Reading):
    """What the options of `asking_options` and `reading_options` hold."""

    transport: tuple[str, ...]
    select: NotRequired[tuple[str, ...]]
    ignore: NotRequired[tuple[str, ...]]


_F = TypeVar("_F", bound=Callable[..., int])
_MOST = 1 << 40
COUNT = click.IntRange(min=1, max=2**31 - 1)
LOWERING = click.Choice(list(LOWERINGS))


limit_option = click.option(
    "--limit", multiple=True, metavar="NAME=N", help="Raise a limit of input."
)


transport_option = click.option(
    "--transport", multiple=True, metavar="NAME", help="Judge under this transport instead."
)


def reading_options(function: _F) -> _F:
    """Add the options that say how a file is read."""
    for option in (
        limit_option,
        click.option(
            "--stages", type=COUNT, metavar="N", help="Number of stages, instead of the file's."
        ),
        click.option(
            "--microbatches",
            type=COUNT,
            metavar="N",
            help="Microbatches in one step, instead of the file's.",
        ),
        click.option("--lowering", type=LOWERING, help="How computations get their messages."),
        click.option("--profile", metavar="NAME|none", help="A runtime's rules and transports."),
    ):
        function = option(function)
    return function


def asking_options(function: _F) -> _F:
    """Add the options that say what is judged."""
    for option in (
        click.option("--ignore", multiple=True, metavar="PREFIX", help="Leave out these rules."),
        click.option("--select", multiple=True, metavar="PREFIX", help="Judge these rules only."),
        transport_option,
    ):
        function = option(function)
    return function


def read_options(values: Reading) -> ReadOptions:
    """Return how files are read.

    Raises:
        click.BadParameter: a limit has no such name, or is no whole number.
    """
    from pipeproof.schedules import generate  # noqa: PLC0415  imported when needed

    return ReadOptions(
        microbatches=values["microbatches"],
        stages=values["stages"],
        profile=values["profile"],
        limits=limits(values["limit"]),
        lowering=LOWERINGS.get(values["lowering"] or ""),
        generate=generate,
    )


def limits(written: Iterable[str]) -> Mapping[str, int]:
    """Return limits by name, each written NAME=N.

    Raises:
        click.BadParameter: a limit has no such name, or is no whole number.
    """
    found: dict[str, int] = {}
    for each in written:
        name, _, amount = each.partition("=")
        if name not in LIMITS:
            _refuse("--limit", name, LIMITS)
        number = int(amount) if amount.isascii() and amount.isdecimal() else 0
        if not 0 < number < _MOST:
            said = f"{printable(amount)} is no limit; write {name}=N, a whole number from 1"
            raise click.BadParameter(said, param_hint="--limit")
        found[name] = number
    return MappingProxyType(found)


def own_options(written: Iterable[str]) -> dict[str, str]:
    """Return the options of a known schedule, each written NAME=VALUE.

    Raises:
        click.BadParameter: one is not written so, or stands twice.
    """
    found: dict[str, str] = {}
    for each in written:
        name, sign, value = each.partition("=")
        if not (name and sign and value) or name in found:
            said = f"{printable(each)}; write each option once, as backward=descending"
            raise click.BadParameter(said, param_hint="--option")
        found[name] = value
    return found


def asked(values: Asking, engine: str = "graph") -> "Asked":
    """Return what is judged.

    Raises:
        click.BadParameter: a transport or rule has no such name.
    """
    from pipeproof.api import Asked  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.ir.codes import CODES, OF_TRACES  # noqa: PLC0415
    from pipeproof.ir.transport import names  # noqa: PLC0415

    known = names()
    for name in values["transport"]:
        if name not in known:
            _refuse("--transport", name, known)
    select, ignore = values.get("select", ()), values.get("ignore", ())
    for option, prefixes in (("--select", select), ("--ignore", ignore)):
        for prefix in prefixes:
            meant = {code for code in CODES if code.startswith(prefix)}
            if not meant:
                _refuse(option, prefix, CODES)
            if option == "--select" and meant <= OF_TRACES:
                said = f"{prefix} is judged of traces, by `pipeproof conform`"
                raise click.BadParameter(said, param_hint=option)
    return Asked(
        transports=values["transport"],
        profile=values["profile"],
        select=select,
        ignore=ignore,
        engine=engine,
    )


def _refuse(option: str, word: str, known: Iterable[str]) -> NoReturn:
    listed = list(known)
    said = f"{printable(word)}; known: {', '.join(listed)}{did_you_mean(word, listed)}"
    raise click.BadParameter(said, param_hint=option)
