"""`pipeproof cache`: where verdicts are kept, and how they are removed."""

import click

from pipeproof.cli._cache import Cache, cache_dir_option, folder_of
from pipeproof.cli._exits import Exit
from pipeproof.cli._output import emit, printable_lines

__all__ = ["command"]


@click.group(name="cache", short_help="Where verdicts are kept; remove them.")
def command() -> None:
    """Tell where `check --cache` keeps verdicts, or remove them."""


@command.command(name="dir", short_help="Print the folder in which verdicts are kept.")
@cache_dir_option
def dir_(cache_dir: str | None) -> int:
    """Print the folder in which verdicts are kept."""
    emit(f"{printable_lines(str(folder_of(cache_dir)))}\n")
    return Exit.PROVED


@command.command(name="clean", short_help="Remove every verdict that is kept.")
@cache_dir_option
def clean(cache_dir: str | None) -> int:
    """Remove every verdict that is kept, and no other file."""
    folder = folder_of(cache_dir)
    removed = Cache(folder).clean()
    said = f"{removed} verdict{'' if removed == 1 else 's'} removed from {folder}"
    emit(f"{printable_lines(said)}\n")
    return Exit.PROVED
