"""What `pipeproof hunt` is asked: where it hunts, how far, and on how many workers."""

import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn, TypedDict, TypeVar

import click

from pipeproof.cli._budget import budget_option, effort
from pipeproof.cli._options import transport_option
from pipeproof.errors import printable

if TYPE_CHECKING:
    from pipeproof.campaign.campaign import Shard
    from pipeproof.campaign.executor import Executor, Limits

__all__ = ["Hunting", "executor", "hunt_options", "limits", "shard_of"]

_F = TypeVar("_F", bound=Callable[..., int])
_SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")
_SECONDS, _MEMORY = 300.0, 4 << 30  # of one task


class Hunting(TypedDict):
    """What the options of `hunt_options` hold."""

    paths: tuple[str, ...]
    schedule: str | None
    generator: str | None
    itself: bool
    ranks: str | None
    stages_per_rank: str | None
    microbatches: str | None
    option: tuple[str, ...]
    transport: tuple[str, ...]
    lowering: tuple[str, ...]
    costs: tuple[str, ...]
    check: str
    mutation: tuple[str, ...]
    mutants: int
    cases: int
    torch: int | None
    seed: int
    store: str | None
    resume: bool
    shard: str | None
    workers: int | None
    ray_address: str | None
    budget: str | None
    found: str
    format_: str
    output: str | None


def hunt_options(function: _F) -> _F:
    """Add the options that say what is hunted, and how."""
    whole = click.IntRange(0, 2**31 - 1)
    for option in (
        click.option(
            "-o", "output", metavar="FILE", help="Write the report there; with merge: the store."
        ),
        click.option(
            "--format",
            "format_",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
        ),
        click.option(
            "--found",
            default="found",
            show_default=True,
            metavar="DIR",
            help="Where found cases are written.",
        ),
        budget_option,
        click.option(
            "--ray-address", metavar="ADDRESS", help="Run on a Ray cluster: auto, or HOST:PORT."
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 4096),
            metavar="N",
            help="Worker processes; one a core unless said.",
        ),
        click.option("--shard", metavar="K/N", help="Do the K-th of N parts of the tasks."),
        click.option("--resume", is_flag=True, help="Go on with the campaign in --store."),
        click.option("--store", metavar="FILE", help="Where results are kept; else nowhere."),
        click.option("--seed", type=whole, default=0, show_default=True, metavar="S"),
        click.option(
            "--torch",
            type=whole,
            metavar="N",
            help="With --self: run every N-th case on tensors, too; 0 for none.",
        ),
        click.option(
            "--cases",
            type=whole,
            default=1000,
            show_default=True,
            metavar="N",
            help="With --self: how many schedules are drawn.",
        ),
        click.option(
            "--check",
            type=click.Choice(("pipeproof", "torch")),
            default="pipeproof",
            show_default=True,
            help="Of a schedule: whose check is to find what is illegal.",
        ),
        click.option(
            "--mutation", multiple=True, metavar="NAME", help="Of a schedule: these mutations only."
        ),
        click.option(
            "--mutants",
            type=whole,
            default=20,
            show_default=True,
            metavar="N",
            help="Of a schedule: how many of each mutation.",
        ),
        click.option(
            "--costs",
            multiple=True,
            metavar="'KIND=T ...'",
            help="With a function as --generator: what operations take; repeatable.",
        ),
        click.option(
            "--lowering",
            multiple=True,
            metavar="NAME",
            help="With --generator: how messages are made; repeatable.",
        ),
        transport_option,
        click.option(
            "--option", multiple=True, metavar="NAME=VALUE", help="An option of the known schedule."
        ),
        click.option("--microbatches", metavar="LIST", help="As 4, or with --generator 2-4,8."),
        click.option("--stages-per-rank", metavar="LIST", help="As --ranks."),
        click.option("--ranks", metavar="LIST", help="As 2, or with --generator 2-4,8."),
        click.option("--self", "itself", is_flag=True, help="Hunt in pipeproof itself."),
        click.option(
            "--generator",
            metavar="NAME",
            help="Hunt in what MODULE:FUNCTION or a known schedule makes over a grid.",
        ),
        click.option("--schedule", metavar="NAME", help="Hunt around a known schedule, no file."),
        click.argument("paths", nargs=-1, metavar="[FILE...]"),
    ):
        function = option(function)
    return function


def limits(values: Hunting) -> "Limits":
    """Return the guards of one task: what `--budget` says of seconds and memory."""
    from pipeproof.campaign.executor import Limits  # noqa: PLC0415  imported when needed

    given = effort(values["budget"])
    return Limits(given.seconds or _SECONDS, given.memory or _MEMORY)


def shard_of(values: Hunting) -> "Shard":
    """Return which part of the tasks is done.

    Raises:
        click.BadParameter: it is not written K/N, K from 1 to N.
    """
    from pipeproof.campaign.campaign import WHOLE, Shard  # noqa: PLC0415  imported when needed

    written = values["shard"]
    if written is None:
        return WHOLE
    parts = _SHARD.fullmatch(written) if written.isascii() else None
    if parts is None or int(parts[1]) > int(parts[2]):
        _refuse("--shard", f"{printable(written)}; write K/N, K from 1 to N, as 1/4")
    return Shard(int(parts[1]), int(parts[2]))


def executor(values: Hunting) -> "Executor":
    """Return what runs the tasks.

    Raises:
        click.ClickException: Ray is asked for and not installed.
    """
    address = values["ray_address"]
    if address is not None:
        if find_spec("ray") is None:
            said = "--ray-address needs Ray, which is not installed: pip install 'pipeproof[ray]'"
            raise click.ClickException(said)
        from pipeproof.campaign._ray import Cluster  # noqa: PLC0415  ray, when asked for

        return Cluster(address)
    from pipeproof.campaign._local import Local  # noqa: PLC0415  imported when needed

    return Local(values["workers"] or os.cpu_count() or 1)


def _refuse(option: str, said: str) -> NoReturn:
    raise click.BadParameter(said, param_hint=option)
