"""Judging again whenever a file that was read has changed, until somebody ends it."""

import glob
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from types import FrameType
from typing import TypedDict, TypeVar

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._inputs import expand
from pipeproof.cli._output import complain, is_unread
from pipeproof.errors import InputError

__all__ = ["Watching", "watch_option", "watched"]

_F = TypeVar("_F", bound=Callable[..., int])
_EVERY = 2.0  # seconds between two looks where no change is told
_QUIET = 50  # milliseconds in which nothing more changes
_ENDED = (Exit.INTERRUPTED, Exit.TERMINATED)

State = Mapping[str, tuple[int, int, int] | None]
"""When each file was changed, its size and number; None where it is not there."""


class Watching(TypedDict):
    """What says what is watched: the option itself, and those that it does not go with."""

    watch: bool
    paths: tuple[str, ...]
    schedule: str | None
    object_: str | None
    frontier: str | None
    output: str | None
    diagram: str | None
    baseline: str | None


_V = TypeVar("_V", bound=Watching)


def watch_option(function: _F) -> _F:
    """Add the option that asks to judge again and again."""
    told = "Judge again at each change of a file that was read; Ctrl-C ends."
    return click.option("--watch", is_flag=True, help=told)(function)


def watched(values: _V, check: Callable[[_V, set[str]], int]) -> int:
    """Check now and after each change, until somebody ends it; return how that is told.

    Args:
        values: what the options hold.
        check: checks once, and adds what it read besides the paths to a set.

    Raises:
        click.UsageError: there are no files to watch.
        click.ClickException: the library that watches is not installed, or the first check says
            that something is wrong with the options.
    """
    _refuse(values)
    _needs_library()
    looked = _Looked(values)
    first = True
    while True:
        before = looked.states()
        click.clear()
        code = _once(lambda: check(values, looked.read), first=first)
        if code in _ENDED:
            return code
        known = {**looked.besides(), **before}
        files = f"{len(known)} file{'' if len(known) == 1 else 's'}"
        complain(f"watching {files}; Ctrl-C ends")
        try:
            ended = _until_changed(looked, known)
        except BrokenPipeError:
            return code
        if ended is not None:
            return ended
        first = False


def _refuse(values: Watching) -> None:
    for name, given in (
        ("--schedule", values["schedule"]),
        ("--object", values["object_"]),
        ("--frontier", values["frontier"]),
    ):
        if given is not None:
            said = f"--watch goes with a PATH, not with {name}."
            raise click.UsageError(said)
    if "-" in values["paths"]:
        said = "--watch reads files again and again; standard input can be read once."
        raise click.UsageError(said)


def _needs_library() -> None:
    try:
        import watchfiles  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        if error.name != "watchfiles":
            raise
        said = "--watch needs watchfiles, which is not installed: pip install 'pipeproof[watch]'"
        raise click.ClickException(said) from error
    del watchfiles


def _once(check: Callable[[], int], *, first: bool) -> int:
    """Check once; what is wrong is told, and ends it only the first time."""
    try:
        return check()
    except InputError as error:
        if first:
            raise
        complain(str(error))
    except click.ClickException as error:
        if first:
            raise
        error.show(file=sys.stderr)
    return Exit.INPUT


class _Looked:
    """What is looked at: the paths, in `read` what was read besides, and not what is written."""

    def __init__(self, values: Watching) -> None:
        self._paths = values["paths"]
        self.read: set[str] = set() if values["baseline"] is None else {values["baseline"]}
        written = [each for each in (values["output"], values["diagram"]) if each is not None]
        beside = [f"{os.path.splitext(each)[0]}.dot" for each in written]  # noqa: PTH122
        self._written = {_absolute(each) for each in (*written, *beside)}

    def states(self) -> State:
        """Return the state of each file that is looked at."""
        return {**self.besides(), **self._states(self._listed())}

    def besides(self) -> State:
        """Return the state of each file that was read besides."""
        return self._states(sorted(self.read))

    def _listed(self) -> list[str]:
        return [str(each.path) for each in expand(self._paths) if each.path is not None]

    def _states(self, paths: Sequence[str]) -> State:
        return {path: _state(path) for path in paths if _absolute(path) not in self._written}

    def folders(self) -> set[str]:
        """Return the folders in which something may change."""
        found = {_there(os.path.dirname(path)) for path in (*self._listed(), *self.read)}  # noqa: PTH120
        for path in self._paths:
            magic = glob.has_magic(path) and not os.path.lexists(path)
            top = _there(_plain(path) if magic else path)
            found.add(top)
            if not magic or "**" in path:
                found.update(_below(top))
        return found


def _below(top: str) -> Iterator[str]:
    for where, folders, _ in os.walk(top):
        folders[:] = [each for each in folders if not each.startswith(".")]
        yield where


def _plain(pattern: str) -> str:
    """Return the folder that a pattern starts from."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)  # noqa: PTH120
    return pattern


def _there(path: str) -> str:
    """Return the nearest folder above that is there."""
    while path and not os.path.isdir(path):  # noqa: PTH112
        path = os.path.dirname(path)  # noqa: PTH120
    return path or "."


def _absolute(path: str) -> str:
    return os.path.realpath(path) if "\0" not in path else path


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        about = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _until_changed(looked: _Looked, known: State) -> Exit | None:
    """Wait until a file differs from what is `known`; return how it is ended where it is.

    Raises:
        BrokenPipeError: nobody reads any more what is found.
    """
    with _noted() as asked_to_end:
        try:
            while looked.states() == known:
                if is_unread():
                    raise BrokenPipeError
                _wait(looked.folders())
        except KeyboardInterrupt:
            return Exit.TERMINATED if asked_to_end else Exit.INTERRUPTED
    return None


def _wait(folders: set[str]) -> None:
    """Wait until something changes in a folder, or for a while."""
    from watchfiles import watch  # noqa: PLC0415  an extra

    changes = watch(
        *sorted(folders),
        watch_filter=None,
        step=_QUIET,
        rust_timeout=int(_EVERY * 1000),
        yield_on_timeout=True,
        recursive=False,
    )
    with closing(changes):
        try:
            next(changes)
        except OSError:  # too many folders, or one that is gone
            time.sleep(_EVERY)


@contextmanager
def _noted() -> Iterator[list[int]]:
    """Let SIGTERM end a wait as Ctrl-C does, so long as this lasts; what came is noted."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        came.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, note)
    try:
        yield came
    finally:
        with suppress(TypeError):  # a handler that is not of Python stays away
            signal.signal(signal.SIGTERM, before)
