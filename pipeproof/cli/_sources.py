"""What a command is asked about: files, a known schedule, or a schedule class."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from pipeproof.cli._inputs import Input, expand
from pipeproof.cli._options import COUNT, Reading, own_options
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document

__all__ = ["Sourced", "source_options", "sources"]

_F = TypeVar("_F", bound=Callable[..., int])


class Sourced(Reading):
    """What the options of `source_options` and `reading_options` hold."""

    paths: tuple[str, ...]
    schedule: str | None
    object_: str | None
    ranks: int | None
    stages_per_rank: int | None
    option: tuple[str, ...]


def source_options(function: _F) -> _F:
    """Add the paths, and the options that stand in their place."""
    for option in (
        click.option("--option", multiple=True, metavar="NAME=VALUE", help="With --schedule."),
        click.option(
            "--stages-per-rank", type=COUNT, metavar="V", help="With --schedule or --object."
        ),
        click.option("--ranks", type=COUNT, metavar="R", help="With --schedule or --object."),
        click.option(
            "--object", "object_", metavar="MODULE:CLASS", help="A schedule class of your own."
        ),
        click.option("--schedule", metavar="NAME", help="A known schedule, no file."),
        click.argument("paths", nargs=-1, metavar="PATH..."),
    ):
        function = option(function)
    return function


def sources(values: Sourced, options: ReadOptions) -> list[Input | Document]:
    """Return the files that are asked about, or the schedules that stand in none.

    Raises:
        click.UsageError: there is none, or of two kinds, or their size is not said.
        InputError: there is no such schedule, or none of that shape.
    """
    kinds = [bool(values["paths"]), values["schedule"] is not None, values["object_"] is not None]
    if sum(kinds) != 1:
        said = "Write one of PATH..., --schedule NAME, --object MODULE:CLASS."
        raise click.UsageError(said)
    sized = values["ranks"] is not None and values["microbatches"] is not None
    if kinds[0]:
        for option, value in (
            ("--ranks", values["ranks"]),
            ("--stages-per-rank", values["stages_per_rank"]),
            ("--option", values["option"]),
        ):
            if value:
                said = f"{option} goes with --schedule or --object, not with a PATH."
                raise click.UsageError(said)
        return list(expand(values["paths"]))
    if not sized:
        said = "Write --ranks and --microbatches: they are the size of the schedule."
        raise click.UsageError(said)
    if values["stages"] is not None:
        said = "--stages goes with a PATH; write --stages-per-rank."
        raise click.UsageError(said)
    return list(_made(values, options))


def _made(values: Sourced, options: ReadOptions) -> Iterable[Document]:
    ranks, per_rank = values["ranks"] or 1, values["stages_per_rank"]
    name = values["schedule"]
    if name is not None:
        from pipeproof.cli._known import known  # noqa: PLC0415  imported when needed

        return [known(name, ranks, per_rank, own_options(values["option"]), options)]
    if values["option"]:
        said = "--option goes with --schedule, not with --object."
        raise click.UsageError(said)
    from pipeproof.cli._object import own_schedule  # noqa: PLC0415

    return own_schedule(values["object_"] or "", ranks, per_rank, options)
