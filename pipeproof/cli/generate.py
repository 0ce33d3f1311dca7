"""`pipeproof generate`: prints a known schedule."""

from typing import TypedDict, Unpack

import click

from pipeproof.cli._options import COUNT, LOWERING, limit_option, limits, own_options
from pipeproof.cli._output import emit
from pipeproof.ir.reading import LOWERINGS, ReadOptions

__all__ = ["command"]


class _Values(TypedDict):
    name: str
    ranks: int
    microbatches: int
    stages_per_rank: int | None
    option: tuple[str, ...]
    lowering: str | None
    lowered: bool
    limit: tuple[str, ...]
    to: str
    output: str | None


@click.command(name="generate", short_help="Print a known schedule.")
@click.argument("name", metavar="NAME")
@click.option("--ranks", type=COUNT, required=True, metavar="R")
@click.option("--microbatches", type=COUNT, required=True, metavar="M")
@click.option("--stages-per-rank", type=COUNT, metavar="V", help="Where the schedule leaves it.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="As backward=descending.")
@click.option("--lowered", is_flag=True, help="With the messages that lowering adds.")
@click.option("--lowering", type=LOWERING, help="How computations get them.  [default: torch]")
@click.option("--to", type=click.Choice(["csv", "spec"]), default="csv", show_default=True)
@limit_option
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(**values: Unpack[_Values]) -> int:
    """Print the known schedule NAME.

    1f1b, dualpipev, forward_only, gpipe, interleaved_1f1b, interleaved_zero_bubble, looped_bfs,
    zbv. A CSV is torch's: computations only, or with messages where --lowered stands; a spec
    names the schedule, or holds its programs.
    """
    if values["lowering"] and values["to"] == "csv" and not values["lowered"]:
        said = "a CSV of computations only does not say how it is lowered; add --lowered"
        raise click.BadParameter(said, param_hint="--lowering")
    emit(_written(values), values["output"])
    return 0


def _written(values: _Values) -> str:
    from pipeproof.api import lowered  # noqa: PLC0415  imported when needed
    from pipeproof.cli._known import known  # noqa: PLC0415
    from pipeproof.cli._write_csv import write_csv  # noqa: PLC0415
    from pipeproof.ir.spec_text import write_spec  # noqa: PLC0415

    lowering = LOWERINGS.get(values["lowering"] or "")
    options = ReadOptions(
        microbatches=values["microbatches"], lowering=lowering, limits=limits(values["limit"])
    )
    own = own_options(values["option"])
    document = known(values["name"], values["ranks"], values["stages_per_rank"], own, options)
    if values["lowered"]:
        document = lowered(document)
    return write_csv(document) if values["to"] == "csv" else write_spec(document, None)
