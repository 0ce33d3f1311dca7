"""What was seen on tensors, told as text at once or as one JSON object at the end."""

import json
from collections.abc import Callable, Mapping

import click

from pipeproof import __version__
from pipeproof.cli._output import emit, printable_lines
from pipeproof.cli._provenance import line
from pipeproof.verdict.result import Json

__all__ = ["Teller", "format_option", "verbose_option"]

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the result is told.",
)
verbose_option = click.option(
    "--verbose", is_flag=True, help="Tell what each result came of: versions, data, flags, commit."
)


class Teller:
    """Tells one result after another.

    In text each is a line, with `verbose` and a line more that says what it came of. In JSON all
    are held back until `close`, each with what it came of in `provenance`.
    """

    def __init__(self, schema: str, format_: str, *, verbose: bool = False) -> None:
        self.schema, self.as_json, self.verbose = schema, format_ == "json", verbose
        self._held: list[Mapping[str, Json]] = []

    def tell(
        self, text: str, said: Mapping[str, Json], came_of: Callable[[], Mapping[str, Json]]
    ) -> None:
        """Tell a result.

        Args:
            text: the result in a line.
            said: the result as JSON holds it.
            came_of: finds what it came of, asked only where that is told.
        """
        if self.as_json:
            self._held.append({**said, "provenance": came_of()})
            return
        emit(f"{_one_line(text)}\n")
        if self.verbose:
            emit(f"  {_one_line(line(came_of()))}\n")

    def note(self, text: str) -> None:
        """Tell a line beside a result; in JSON the result holds it."""
        if not self.as_json:
            emit(f"{_one_line(text)}\n")

    def close(self, name: str, **more: Json) -> None:
        """Write what was held back, as a list called `name` beside `more`."""
        if not self.as_json:
            return
        tool = {"name": "pipeproof", "version": __version__}
        head = json.dumps({"schema": self.schema, "tool": tool, **more})
        held = ",\n".join(json.dumps(each) for each in self._held)
        emit(f'{head[:-1]}, "{name}": [\n{held}]}}\n')


def _one_line(text: str) -> str:
    """Return a text in one line, without control characters that a file may have brought in."""
    return printable_lines(text.replace("\n", " "))
