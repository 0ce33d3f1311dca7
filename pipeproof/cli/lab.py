"""`pipeproof lab`: two small models worked out exactly, to predict first and to look then."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import NoReturn, TypedDict, Unpack

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._output import emit
from pipeproof.cli._telling import format_option
from pipeproof.errors import printable

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.lab/1"

_DECIMAL = re.compile(r"(\d{1,30}(\.\d{0,30})?|\.\d{1,30})")
_COUNT = re.compile(r"\d{1,12}")
_ANALOGY = (
    "A fluid queue: every step adds what arrives and takes away what is served, at most all of it.",
    "It is an analogy for older work that is outstanding. It does not show order, deadlocks, "
    "bursts, chance or priorities, and no schedule was judged.",
)
_NOT_ONE = "expected a number from 0 to 1, in at most 30 digits behind the point, as 0.2"
_NOT_MANY = (
    "expected a number of 0 or more, in at most 30 digits before and behind the point, as 3 or 0.5"
)
_NOT_WHOLE = "expected a whole number of 0 or more, in at most 12 digits"

Said = str | int | list["Said"] | dict[str, "Said"]


def _number(text: str, expected: str = _NOT_MANY, most: int | None = None) -> Decimal:
    """Read a decimal number as it is typed, without an exponent; `most` bounds it."""
    fits = text.isascii() and _DECIMAL.fullmatch(text)
    if not fits or (most is not None and Decimal(text) > most):
        message = f"{printable(text)}; {expected}"
        raise click.BadParameter(message)
    return Decimal(text)


def _rate(text: str) -> Decimal:
    return _number(text, _NOT_ONE, 1)


def _count(text: str) -> int:
    if not (text.isascii() and _COUNT.fullmatch(text)):
        message = f"{printable(text)}; {_NOT_WHOLE}"
        raise click.BadParameter(message)
    return int(text)


@click.group(name="lab", short_help="Work out small models exactly: coverage, backlog.")
def command() -> None:
    """Work out a small model exactly, from the numbers as they are typed.

    With --predict you say first what you expect; where it does not hold, the exit code is 1.
    """


class _Coverage(TypedDict):
    p: Decimal
    trials: tuple[int, ...]
    predict: tuple[Decimal, ...]
    format_: str


@command.command(short_help="The chance that trials meet a fault at least once.")
@click.option("--p", type=_rate, required=True, metavar="P", help="The chance that one trial does.")
@click.option(
    "--trials", type=_count, multiple=True, required=True, metavar="N", help="Repeatable."
)
@click.option(
    "--predict",
    type=_rate,
    multiple=True,
    metavar="X",
    help="What you expect; for the first --trials, then the next.",
)
@format_option
def coverage(**values: Unpack[_Coverage]) -> int:
    """Print 1 - (1 - P)^N, the chance that at least one of N independent trials meets a fault."""
    from pipeproof.campaign import chance  # noqa: PLC0415  imported when needed

    rate, trials, predicted = values["p"], values["trials"], values["predict"]
    if len(predicted) > len(trials):
        _refuse(f"{len(predicted)} --predict for {len(trials)} --trials; give one for each at most")
    found = [chance.coverage(rate, each) for each in trials]
    lines, said, missed = list[str](), list[Said](), False
    for place, (count, value) in enumerate(zip(trials, found, strict=True)):
        row: dict[str, Said] = {"trials": count, "chance": chance.written(value)}
        line = f"{count} trial{'' if count == 1 else 's'}: {chance.written(value)}"
        if place < len(predicted):
            became = chance.held(predicted[place], value)
            missed = missed or became == "did not hold"
            row |= {"predicted": chance.written(predicted[place]), "prediction": became}
            line = f"{line}; predicted {chance.written(predicted[place])}: {became}"
        lines.append(line)
        said.append(row)
    words = [*chance.WORDS, chance.NO_FAULT]
    whole: dict[str, Said] = {"p": chance.written(rate), "coverage": said}
    _tell(values["format_"], lines, whole, words)
    return Exit.REFUTED if missed else Exit.PROVED


class _Backlog(TypedDict):
    arrival: Decimal
    service: Decimal
    initial: Decimal
    steps: int
    predict: Decimal | None
    format_: str


@command.command(short_help="What is left in a queue that is fed and served.")
@click.option("--arrival", type=_number, required=True, metavar="A", help="What each step adds.")
@click.option("--service", type=_number, required=True, metavar="S", help="What each step serves.")
@click.option(
    "--initial", type=_number, default="0", show_default=True, metavar="B", help="What is there."
)
@click.option("--steps", type=_count, default="1", show_default=True, metavar="N")
@click.option("--predict", type=_number, metavar="X", help="What you expect.")
@format_option
def backlog(**values: Unpack[_Backlog]) -> int:
    """Print what is left after N steps of a fluid queue: max(0, B + N (A - S))."""
    from pipeproof.campaign import chance  # noqa: PLC0415  imported when needed

    left = chance.backlog(values["arrival"], values["service"], values["initial"], values["steps"])
    row: dict[str, Said] = {"backlog": chance.written(left)}
    lines, became, predicted = [chance.written(left)], "", values["predict"]
    if predicted is not None:
        became = chance.held(predicted, left)
        row |= {"predicted": chance.written(predicted), "prediction": became}
        lines.append(f"predicted {chance.written(predicted)}: {became}")
    _tell(values["format_"], lines, row, _ANALOGY)
    return Exit.REFUTED if became == "did not hold" else Exit.PROVED


def _tell(
    format_: str, lines: list[str], said: Mapping[str, Said], words: "list[str] | tuple[str, ...]"
) -> None:
    if format_ == "json":
        whole = {"schema": SCHEMA, **said, "words": list(words)}
        emit(json.dumps(whole, indent=1) + "\n")
        return
    emit("".join(f"{each}\n" for each in (*lines, *words)))


def _refuse(said: str) -> NoReturn:
    raise click.UsageError(said)
