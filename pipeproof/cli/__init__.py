"""The command line: one file a subcommand, imported when it is used."""

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from pipeproof import __version__, plugins
from pipeproof.cli._exits import Exit, TerminatedError, explained, stop_on_sigterm
from pipeproof.cli._output import complain, is_unread, quiet_pipe
from pipeproof.errors import InputError, did_you_mean, printable

__all__ = ["ARGV", "COMPLETE", "GROUP", "main", "run"]

ARGV = "pipeproof.argv"
"""Under which name the root context holds what was written behind `pipeproof`."""

COMPLETE = "_PIPEPROOF_COMPLETE"


class _Subcommands(click.Group):
    """The files of this package: `check.py` holds `command`, run as `pipeproof check`.

    An underscore behind the name of a file keeps it apart from `run` of this module.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name.rstrip("_") for name in plugins.names(sys.modules[__name__])]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        file = "run_" if cmd_name == "run" else cmd_name
        command = importlib.import_module(f"{__name__}.{file}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        is_unknown = not args[0].startswith("-") and args[0] not in known
        if is_unknown and not ctx.resilient_parsing:  # as it is while a shell completes
            ctx.fail(f"No such command {printable(args[0])}{did_you_mean(args[0], known)}.")
        return super().resolve_command(ctx, args)


GROUP = _Subcommands(
    name="pipeproof",
    help="Proves pipeline-parallel training schedules legal, or shows why they are not.",
    epilog="Exit codes: 0 proved, 1 refuted, 2 unreadable input, 3 unknown, 4 do not trust, "
    "5 nothing to check, 101 a bug of pipeproof.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="pipeproof")(GROUP)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave the process with its exit code."""
    stop_on_sigterm()
    asked = os.environ.get(COMPLETE)
    code = _completed(asked) if asked else run(sys.argv[1:] if argv is None else argv)
    quiet_pipe()
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run the command within this process.

    Returns:
        The exit code of the contract; nothing that goes wrong inside is raised.
    """
    try:
        return _invoke(list(argv))
    except TerminatedError:
        return Exit.TERMINATED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:  # a crash must never look like a verdict
        return _ended(error)


def _ended(error: Exception) -> int:
    """Say on stderr what `error` means, and return the exit code for it."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            error.show(file=sys.stderr)
        case InputError():
            complain(str(error))
        case click.Abort():
            return Exit.INTERRUPTED
        case BrokenPipeError() if is_unread():  # of the help: results are told without one
            return Exit.PROVED
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            complain(f"nothing more can be written: {error.strerror}")
        case _:
            said, code = explained(error)
            complain(said)
            return code
    return Exit.INPUT


def _invoke(argv: list[str]) -> int:
    with GROUP.make_context("pipeproof", list(argv)) as context:
        context.meta[ARGV] = tuple(argv)
        code = GROUP.invoke(context)
    return code if isinstance(code, int) else Exit.PROVED


def _completed(instruction: str) -> int:
    from click.shell_completion import shell_complete  # noqa: PLC0415  only the shell asks

    from pipeproof.cli._complete import complete_all  # noqa: PLC0415  so it is here

    complete_all(GROUP)
    return shell_complete(GROUP, {}, "pipeproof", COMPLETE, instruction)
