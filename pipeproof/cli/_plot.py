"""Writes pictures of timelines, where matplotlib is."""

from typing import TYPE_CHECKING

import click

from pipeproof.cli._output import emit_bytes, save

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeproof.reports._timing import Timed

__all__ = ["plot"]


def plot(all_: "Sequence[Timed]", kind: str, path: str | None) -> None:
    """Write a picture to the file at `path`, else to stdout.

    Raises:
        click.ClickException: matplotlib is not installed, or there is nothing to draw.
        click.FileError: the file cannot be written.
    """
    if not all_:
        said = "there is no schedule to draw"
        raise click.ClickException(said)
    try:
        from pipeproof.reports._plot import picture  # noqa: PLC0415  it takes a second to import
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        said = "pictures are drawn by matplotlib: pip install 'pipeproof[plot]'"
        raise click.ClickException(said) from error
    drawn = picture(all_, kind)
    if path is None:
        emit_bytes(drawn)
        return
    save(drawn, path)
