"""`pipeproof completion`: the script that completes its commands in a shell."""

import click

from pipeproof.cli import COMPLETE
from pipeproof.cli._output import emit

__all__ = ["command"]


@click.command(name="completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the script that completes subcommands, options and what they take in SHELL.

    bash: eval "$(pipeproof completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc;
    fish: pipeproof completion fish > ~/.config/fish/completions/pipeproof.fish
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415  only this needs it

    kind = get_completion_class(shell)
    if kind is None:
        said = f"click completes nothing in {shell}"
        raise click.UsageError(said)
    emit(kind(context.find_root().command, {}, "pipeproof", COMPLETE).source())
    return 0
