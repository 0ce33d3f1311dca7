"""`pipeproof convert`: writes a schedule in another form."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Unpack

import click

from pipeproof.cli._inputs import Input, expand, load
from pipeproof.cli._options import (
    Asking,
    asked,
    read_options,
    reading_options,
    transport_option,
)
from pipeproof.cli._output import emit
from pipeproof.errors import ParseError, Problem
from pipeproof.ir.source import Document

__all__ = ["command"]


class _Values(Asking):
    path: str
    to: str
    output: str | None


@click.command(name="convert", short_help="Write a schedule in another form.")
@click.argument("path", metavar="PATH")
@click.option(
    "--to",
    type=click.Choice(["as-run", "spec", "csv"]),
    required=True,
    help="What was judged, as canonical JSON; a spec file; torch's CSV.",
)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
@transport_option
@reading_options
def command(**values: Unpack[_Values]) -> int:
    """Write the schedule at PATH in another form.

    as-run prints one line for each schedule in the file; spec and csv take one, as FILE#3.
    """
    sources = list(expand([values["path"]]))
    if len(sources) != 1:
        said = f"{len(sources)} files stand at {values['path']}; name one"
        raise click.BadParameter(said, param_hint="PATH")
    loaded = load(sources[0], read_options(values))
    documents = loaded.documents if loaded is not None else ()
    if values["to"] == "as-run":
        emit(_as_run(documents, values), values["output"])
    elif values["transport"]:
        said = "--transport goes with --to as-run."
        raise click.UsageError(said)
    else:
        emit(_WRITERS[values["to"]](sources[0], documents, values["output"]), values["output"])
    return 0


def _as_run(documents: tuple[Document, ...], values: _Values) -> str:
    from pipeproof.api import as_run  # noqa: PLC0415  imported when needed

    question = (asked(values),) if values["transport"] else ()
    return "".join(f"{as_run(document, *question).rstrip()}\n" for document in documents)


def _spec(source: Input, documents: tuple[Document, ...], output: str | None) -> str:
    from pipeproof.ir.spec_text import write_spec  # noqa: PLC0415  imported when needed

    document = _only(source, documents)
    folder = Path(output).parent if output is not None else Path()
    programs = document.origin.get("path", source.path)  # of an imported file, its own
    path = os.path.relpath(programs, folder) if isinstance(programs, str | Path) else None
    return write_spec(document, path)


def _csv(source: Input, documents: tuple[Document, ...], output: str | None) -> str:
    from pipeproof.cli._write_csv import write_csv  # noqa: PLC0415  imported when needed

    return write_csv(_only(source, documents))


_Writer = Callable[[Input, tuple[Document, ...], str | None], str]
_WRITERS: Mapping[str, _Writer] = MappingProxyType({"spec": _spec, "csv": _csv})


def _only(source: Input, documents: tuple[Document, ...]) -> Document:
    if len(documents) == 1:
        return documents[0]
    found = f"it holds {len(documents)} schedules"
    raise ParseError([Problem(source.name, 1, 1, found, f"name one, as {source.name}#0")])
