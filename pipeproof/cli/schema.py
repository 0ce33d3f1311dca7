"""`pipeproof schema`: the JSON Schemas of what is read and written."""

import json
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

import click

from pipeproof.cli._output import emit

__all__ = ["command", "schemas"]

_ROOMS = ("pipeproof.frontends", "pipeproof.reports")
_END = ".schema.json"
_DRAFTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "7": "http://json-schema.org/draft-07/schema#",
}


def schemas() -> Mapping[str, Traversable]:
    """Return the files of the schemas by what they describe, in order of these names."""
    every = (each for room in _ROOMS for each in files(room).iterdir() if each.name.endswith(_END))
    found = {each.name.removesuffix(_END): each for each in every}
    return MappingProxyType(dict(sorted(found.items())))


@click.command(name="schema", short_help="Print the JSON Schema of spec files or of a result.")
@click.argument("name", required=False, type=click.Choice(list(schemas())), metavar="[NAME]")
@click.option("--draft", type=click.Choice(list(_DRAFTS)), default="2020-12", show_default=True)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(name: str | None, draft: str, output: str | None) -> int:
    """Print the JSON Schema NAME; without one, list all.

    `spec` is that of spec files, for completion in editors; the others are those of the JSON
    objects that the subcommands write. --draft 7 is for readers that know no later one; the
    schemas use nothing that it lacks.
    """
    if name is None:
        emit("".join(f"{each:<12}{_title(file)}\n" for each, file in schemas().items()), output)
        return 0
    text = schemas()[name].read_text(encoding="utf-8")
    emit(text.replace(_DRAFTS["2020-12"], _DRAFTS[draft], 1), output)
    return 0


def _title(file: Traversable) -> str:
    said = json.loads(file.read_text(encoding="utf-8"))["description"]
    return str(said)
