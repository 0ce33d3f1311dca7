"""Command lines of pipeproof as text: whether they are ones."""

import click

from pipeproof.cli import GROUP


def parse(words: list[str]) -> None:
    """Parse a command line down to its last subcommand, and run nothing of it."""
    command: click.Command = GROUP
    name, parent = "pipeproof", None
    while True:
        context = command.make_context(name, list(words), parent=parent)
        rest = [*context._protected_args, *context.args]
        if not isinstance(command, click.Group) or not rest:
            return
        found, inner, words = command.resolve_command(context, rest)
        assert found is not None
        assert inner is not None
        name, command, parent = found, inner, context
