"""Where text goes: results to stdout or a file, everything else to stderr."""

import io
import os
import re
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click

from pipeproof.cli._saved import put
from pipeproof.reports._clean import inert

__all__ = [
    "COLOURS",
    "complain",
    "emit",
    "emit_bytes",
    "is_unread",
    "printable_lines",
    "quiet_pipe",
    "save",
    "wants_colour",
]

COLOURS = ("auto", "always", "never")
_QUOTING = ("{", "[", "pipeproof:")
"""How JSON and specs begin, whose texts are quoted as in JSON."""
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)


def emit(text: str, path: str | None = None) -> None:
    """Write a result to stdout, or to the file at `path`; a closed pipe is nobody's fault.

    Raises:
        click.ClickException: the file cannot be written, or nothing more to stdout.
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
    if text.startswith("<"):
        return "".join(_escaped(part) for part in _SCRIPT.split(text))
    return _escaped(text) if text.startswith("digraph") else text


def _escaped(markup: str) -> str:
    is_script = markup.startswith("<script")
    return markup.replace("##[", "#\\u0023[" if is_script else "&#35;#[")


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
    with _told_to(stream):
        print(text, end="", file=stream, flush=True)


def emit_bytes(data: bytes) -> None:
    """Write a result that is no text to stdout; a closed pipe is nobody's fault.

    Raises:
        click.ClickException: nothing more can be written there.
    """
    with _told_to(sys.stdout):
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@contextmanager
def _told_to(stream: TextIO) -> Iterator[None]:
    """Let a stream fail: without a word where its reader is gone, or where it is stderr."""
    try:
        yield
    except OSError as error:
        quiet_pipe()
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            said = f"stdout cannot be written to: {error.strerror or 'it fails'}"
            raise click.ClickException(said) from error


def is_unread() -> bool:
    """Whether stdout is a pipe whose reader is gone."""
    if not hasattr(select, "poll"):
        return False
    asked = select.poll()
    try:
        asked.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in asked.poll(0))
    except (OSError, ValueError):  # it is no file
        return False


def quiet_pipe() -> None:
    """Flush both streams; one that takes nothing more is led to nowhere, so that exit is quiet."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _lead_nowhere(stream)
        except ValueError:  # closed by whoever embeds the command
            continue


def _lead_nowhere(stream: TextIO) -> None:
    with suppress(OSError, ValueError):  # it is no file
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)


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
