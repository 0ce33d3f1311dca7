"""The one schedule of a file, and the text of a file that is none."""

from pathlib import Path

import click

from pipeproof.cli._inputs import expand, load
from pipeproof.errors import ParseError, Problem
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document

__all__ = ["content", "only"]


def only(path: str, options: ReadOptions) -> Document:
    """Return the schedule at `path`.

    Raises:
        click.BadParameter: several files stand there.
        ParseError: the file holds several schedules, or none.
    """
    sources = list(expand([path]))
    if len(sources) != 1:
        said = f"{len(sources)} files stand at {path}; name one"
        raise click.BadParameter(said, param_hint="FILE")
    loaded = load(sources[0], options)
    documents = loaded.documents if loaded is not None else ()
    if len(documents) == 1:
        return documents[0]
    name = sources[0].name
    found = f"it holds {len(documents)} schedules"
    raise ParseError([Problem(name, 1, 1, found, f"name one, as {name}#0")])


def content(path: str) -> str:
    """Return the text of the file at `path`.

    Raises:
        ParseError: it cannot be read, or is no UTF-8.
    """
    try:
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError:
        why = "it is no UTF-8"
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "no such path can be"
        why = f"it cannot be read ({said})"
    raise ParseError([Problem(path, 1, 1, why, "name a file that can be read")])
