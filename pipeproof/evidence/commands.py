"""Commands that are run for a bundle: their logs, exit codes, and what no log may hold."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple, Protocol
from urllib.parse import quote

import pipeproof

__all__ = ["MOST", "NOT_FOUND", "Cleaner", "Ended", "Run", "processes"]

MOST = 64 << 20
"""How many bytes of a log are kept."""

NOT_FOUND = 127
_SECRET = re.compile(
    r"token|secret|passw|passphr|credential|cookie|auth(?!or)|(api|access|private)_?key"
    r"|(^|_)(key|pass|pat|pw|dsn|webhook)$|_pwd$",
    re.IGNORECASE,
)
_SHORTEST = 8
_IN_ADDRESS = re.compile(rb"(?<=://)[^/\s'\"]+@")
_OWN = "pipeproof"
_ENDING = (signal.SIGINT, signal.SIGTERM)


class Ended(NamedTuple):
    """How a command ended: its exit code, its logs, and how long it took."""

    exit: int
    stdout: bytes
    stderr: bytes
    milliseconds: int
    cut: int = 0


class Run(Protocol):
    """Runs a command in a folder, to its end; nothing that it started is left."""

    def __call__(self, argv: Sequence[str], folder: Path, logs: Path) -> Ended: ...


class Cleaner:
    """Takes out of a log what no bundle may hold: secrets, and where things lie on this machine.

    Secrets are the values of variables whose names say so, and users and passwords of addresses.
    """

    def __init__(self, environ: Mapping[str, str], places: Iterable[tuple[Path, str]]) -> None:
        told = {name: value for name, value in environ.items() if _SECRET.search(name)}
        self.secrets = {
            name: os.fsencode(value) for name, value in told.items() if len(value) >= _SHORTEST
        }
        self._written = {name: _written(value) for name, value in self.secrets.items()}
        found = [(each, b"[removed]") for every in self._written.values() for each in every]
        for place, shown in places:
            if len(place.parts) > 2:  # noqa: PLR2004  a root, or a folder in it, is in many words
                found.append((os.fsencode(place), shown.encode()))
        self._found = sorted(found, key=lambda pair: (-len(pair[0]), pair))

    def __call__(self, log: bytes) -> tuple[bytes, int]:
        """Return a log as it may be kept, and how much was taken out."""
        log, number = _IN_ADDRESS.subn(b"[removed]@", log)
        for what, shown in self._found:
            number += log.count(what)
            log = log.replace(what, shown)
        return log, number

    def text(self, text: str) -> str:
        """Return a text as it may be kept."""
        return self(text.encode("utf-8", "surrogatepass"))[0].decode("utf-8", "replace")

    def secret_in(self, data: bytes) -> str | None:
        """Return the name of a variable whose secret value stands in `data`."""
        every = sorted(self._written.items())
        return next((name for name, ways in every if any(each in data for each in ways)), None)


def _written(secret: bytes) -> set[bytes]:
    """Return a secret as it may stand somewhere: as it is, in JSON, in an address."""
    text = secret.decode("utf-8", "replace")
    in_json = (json.dumps(text, ensure_ascii=plain)[1:-1] for plain in (True, False))
    return {secret, *(each.encode() for each in in_json), quote(secret, safe="").encode()}


def processes(argv: Sequence[str], folder: Path, logs: Path) -> Ended:
    """Run a command as a process of its own, without a shell and without input.

    `pipeproof` and `python -m pipeproof.recheck` are those that run here.

    Args:
        argv: its words.
        folder: where it runs.
        logs: a folder for its logs while it runs.
    """
    words, environ = _own(argv)
    out, err = logs / "out", logs / "err"
    begun = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        try:
            code = _waited(words, folder, environ, (stdout.fileno(), stderr.fileno()))
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            stderr.write(f"{words[0]}: {why}\n".encode("utf-8", "replace"))
            code = NOT_FOUND
    took = int((time.monotonic() - begun) * 1000)
    kept = [_kept(out), _kept(err)]
    for each in (out, err):
        each.unlink()
    return Ended(code, kept[0][0], kept[1][0], took, kept[0][1] + kept[1][1])


def _own(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    environ = dict(os.environ)
    module = {(_OWN,): _OWN, ("python", "-m", "pipeproof.recheck"): "pipeproof.recheck"}
    for words, name in module.items():
        if tuple(argv[: len(words)]) == words:
            here = str(Path(pipeproof.__file__).parent.parent)
            path = os.pathsep.join(filter(None, (here, environ.get("PYTHONPATH"))))
            environ |= {"PYTHONPATH": path, "NO_COLOR": "1"}
            return [sys.executable, "-P", "-m", name, *argv[len(words) :]], environ
    return list(argv), environ


def _waited(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], streams: tuple[int, int]
) -> int:
    """Run a command in a group of its own and return its exit code; the group ends with it."""
    process: subprocess.Popen[bytes] | None = None
    held = _Held()
    try:
        process = subprocess.Popen(  # noqa: S603  what the user asked for
            words,
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            cwd=folder,
            env=environ,
            start_new_session=True,
        )
        held.release()
        code = process.wait()
    finally:
        held.put_back()
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return code if code >= 0 else 128 - code


class _Held:
    """Keeps signals that end this process until a process that is being started is known."""

    def __init__(self) -> None:
        self._came: list[int] = []
        is_main = threading.current_thread() is threading.main_thread()
        self._were = {each: signal.signal(each, self._keep) for each in _ENDING if is_main}

    def _keep(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)

    def release(self) -> None:
        """Handle signals as before, and what came meanwhile."""
        self.put_back()
        while self._came:
            signal.raise_signal(self._came.pop(0))

    def put_back(self) -> None:
        """Handle signals as before."""
        for number, handler in self._were.items():
            if handler is not None:  # else it was none of Python's
                signal.signal(number, handler)
        self._were = {}


def _kept(path: Path) -> tuple[bytes, int]:
    """Return the begin of a log, and how many bytes of it were left out."""
    with path.open("rb") as stream:
        data = stream.read(MOST)
    return data, path.stat().st_size - len(data)
