"""Where text goes: results to stdout or a file, everything else to stderr."""

import io
import os
import sys
from typing import TextIO

import click

from pipeproof.cli._saved import put
from pipeproof.reports._clean import inert

__all__ = ["COLOURS", "complain", "emit", "printable_lines", "quiet_pipe", "save", "wants_colour"]

COLOURS = ("auto", "always", "never")
_QUOTING = ("{", "[", "pipeproof:")
"""How JSON and specs begin, whose texts are quoted as in JSON."""


def emit(text: str, path: str | None = None) -> None:
    """Write a result to stdout, or to the file at `path`; a closed pipe is nobody's fault.

    Raises:
        click.FileError: the file cannot be written.
    """
    if path is None:
        _write(sys.stdout, _without_commands(text))
        return
    save(text.encode("utf-8", "backslashreplace"), path)


def _without_commands(text: str) -> str:
    """Return data that says the same, and in which the runner of GitHub Actions finds no command.

    It looks for `##[word]` anywhere in what a step prints. Text has gone through `printable_lines`.
    """
    if "##[" not in text:
        return text
    if text.startswith(_QUOTING):
        return text.replace("##[", "#\\u0023[")
    return text.replace("##[", "&#35;#[") if text.startswith("digraph") else text


def save(data: bytes, path: str) -> None:
    """Write a file, as a whole or not at all.

    Raises:
        click.FileError: it cannot be written; what was there before is there still.
    """
    try:
        put(path, data)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such path can be"
        raise click.FileError(printable_lines(path), why) from error


def complain(text: str) -> None:
    """Write to stderr, without the control characters that a file may have brought in."""
    _write(sys.stderr, printable_lines(text) + "\n")


def printable_lines(text: str) -> str:
    """Return `text` with everything unprintable but line breaks replaced, and nothing that CI does.

    No line is one that the runner of GitHub Actions takes for a command.
    """
    return "\n".join(inert(_printable(line)) for line in text.split("\n"))


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


def _write(stream: TextIO, text: str) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    try:
        print(text, end="", file=stream, flush=True)
    except BrokenPipeError:
        quiet_pipe()


def quiet_pipe() -> None:
    """Flush both streams; one whose reader is gone is led to nowhere, so that exit is quiet."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except ValueError:  # closed by whoever embeds the command
            continue


def wants_colour(choice: str, path: str | None) -> bool:
    """Return whether results are coloured: `choice` is auto, always or never.

    With auto: where stdout is a terminal that is not dumb or FORCE_COLOR is set, unless NO_COLOR
    is set or the result goes to a file.
    """
    if choice != "auto":
        return choice == "always"
    environ = os.environ
    if path is not None or environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return bool(environ.get("FORCE_COLOR")) or sys.stdout.isatty()
