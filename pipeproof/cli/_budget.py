"""How far engines may go: what stands behind --budget."""

import re
from typing import TYPE_CHECKING, NoReturn

import click

from pipeproof.errors import did_you_mean, printable
from pipeproof.ir.sizes import UNIT, read_size

if TYPE_CHECKING:
    from pipeproof.proofs.asked import Effort

__all__ = ["PARTS", "budget_option", "effort"]

_OPTION = "--budget"
_MOST = 2**32 - 1  # that the solver counts to
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?")
PARTS = {
    "states": f"states=N, a whole number from 1 to {_MOST}",
    "seconds": "seconds=S, as 60 or 0.5",
    "memory": "memory=SIZE, as 2GiB",
    "rlimit": f"rlimit=N, a whole number from 1 to {_MOST}",
}

budget_option = click.option(
    "--budget",
    metavar="PART=N,...",
    help="How far engines go for each schedule and transport: states and memory of the explorer, "
    "rlimit (steps) of the solver, seconds of each. As states=100000,memory=2GiB.",
)


def effort(written: str | None) -> "Effort":
    """Return how far engines may go.

    Raises:
        click.BadParameter: a part has no such name, stands twice, or is no such number.
    """
    from pipeproof.proofs.asked import Effort  # noqa: PLC0415  imported when needed

    parts: dict[str, str] = {}
    for each in written.split(",") if written is not None else ():
        name, _, amount = each.strip().partition("=")
        if name not in PARTS:
            known = ", ".join(PARTS)
            _refuse(f"{printable(name)}; known: {known}{did_you_mean(name, PARTS)}")
        if name in parts:
            _refuse(f"'{name}' stands twice; write each part once")
        parts[name] = amount
    return Effort(
        states=_whole(parts, "states"),
        seconds=_seconds(parts),
        memory=_memory(parts),
        rlimit=_whole(parts, "rlimit"),
    )


def _whole(parts: dict[str, str], name: str) -> int | None:
    if name not in parts:
        return None
    text = parts[name]
    short = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST))
    number = int(text) if short else 0
    return number if 0 < number <= _MOST else _no_part(name, text)


def _seconds(parts: dict[str, str]) -> float | None:
    text = parts.get("seconds")
    if text is None or (text.isascii() and _SECONDS.fullmatch(text) and float(text) > 0):
        return None if text is None else float(text)
    return _no_part("seconds", text)


def _memory(parts: dict[str, str]) -> int | None:
    text = parts.get("memory")
    if text is None:
        return None
    try:
        size = read_size(text) // UNIT if text.isascii() and len(text) < 40 else 0  # noqa: PLR2004
    except ValueError:
        size = 0
    return size or _no_part("memory", text)


def _no_part(name: str, text: str) -> NoReturn:
    _refuse(f"{printable(text)} is no number of that; write {PARTS[name]}")


def _refuse(said: str) -> NoReturn:
    raise click.BadParameter(said, param_hint=_OPTION)
