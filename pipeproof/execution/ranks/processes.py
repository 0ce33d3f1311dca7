"""Processes that are ranks of one gloo group, kept alive from one call to the next.

They are forked from a nursery, a process that has imported torch and does nothing else, so that a
new set takes a fraction of a second. A set in which a call got stuck or raised is of no use any
more, since its ranks no longer agree on what was sent: it is killed, and the next call has a new
one. All of them end with the process that made them, however it ends.
"""

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

__all__ = ["Answer", "Processes", "Raised", "Report", "Returned", "Stuck", "Target"]

P = TypeVar("P")
R = TypeVar("R")

Where = int | str
Report = Callable[[Where], None]
"""What a target calls with the operation that it is about to enter."""
Target = Callable[[P, Report], R]
"""A function at the top of a module that can be imported; its rank is that of the group."""

_LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
_POLL = 0.02
_START = 120.0
_END = 5.0


@dataclass(frozen=True, slots=True)
class Returned(Generic[R]):
    """A rank came to its end."""

    value: R


@dataclass(frozen=True, slots=True)
class Raised:
    """A rank raised an exception, or its process ended: type `ProcessEnded`, what it printed last.

    `where` is what it reported last, None where it reported nothing.
    """

    text: str
    type: str
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Stuck:
    """A rank had not come to its end within the limit.

    `where` is what it reported last, None where it reported nothing.
    """

    where: Where | None


Answer = Returned[R] | Raised | Stuck


class _Rank:
    """One worker as its parent knows it."""

    def __init__(self, connection: "Connection[bytes, bytes]") -> None:
        self.connection = connection
        self.process = 0
        self.where: Where | None = None

    def is_running(self) -> bool:
        """Whether its main thread computes or waits for a processor, where the system says so."""
        try:
            said = Path(f"/proc/{self.process}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        return said.rpartition(")")[2].split()[:1] in (["R"], ["D"])


class Processes:
    """Sets of gloo ranks on loopback, as many as a call has payloads.

    Nothing starts before the first call. Use it as a context manager, or call `close`: then no
    process, port or file remains. Ctrl-C reaches the caller only; an exception that leaves a call
    ends the set.

    In a worker one thread computes, algorithms are deterministic, fresh memory is NaN, and the
    seed is 0 at the start of each call. What a call sends and nobody receives is still there in
    the next one: ask for a new set with `renew` after a call that may leave something behind.
    """

    def __init__(self) -> None:
        self._nursery: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed with the nursery
        self._folder: Path | None = None
        self._set: list[_Rank] = []
        self._printed = 0
        self._wanted: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def call(
        self,
        target: Target[P, R],
        payloads: Sequence[P],
        *,
        limit: float,
        at_most: float = 120.0,
    ) -> list[Answer[R]]:
        """Run a target on every rank at once, each with its own payload.

        Time runs from the last sign of progress of any rank: a report, an end, or a main thread
        that is running. A target and what it takes and returns are pickled.

        Args:
            target: what each rank runs.
            payloads: what it is given, a rank each.
            limit: seconds without progress on any rank, after which those that have not come to
                their end are stuck.
            at_most: seconds after which they are stuck in any case.

        Raises:
            RuntimeError: the ranks do not start.
        """
        sent = [pickle.dumps((target, payload)) for payload in payloads]
        try:
            if len(self._set) != len(payloads):
                self.renew()
                self._start(len(payloads))
            self._printed = os.fstat(self._said.fileno()).st_size
            for rank, message in zip(self._set, sent, strict=True):
                rank.where = None
                rank.connection.send_bytes(message)
            answers: list[Answer[R]] = self._answers(limit, at_most)
        except BaseException:
            self.renew()
            raise
        if not all(isinstance(answer, Returned) for answer in answers):
            self.renew()
        return answers

    def preload(self, module: str) -> None:
        """Have a module imported before workers are forked, so that no set imports it anew."""
        if module not in self._wanted:
            self._wanted.append(module)

    def renew(self) -> None:
        """End the set: the next call has a new one."""
        ranks, self._set = self._set, []
        for rank in ranks:
            rank.connection.close()
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.sendall(b"end\n")
                self._control.recv(1)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def close(self) -> None:
        """End every process."""
        self.renew()
        nursery, self._nursery = self._nursery, None
        control, self._control = self._control, None
        if control is not None:
            control.close()
        if nursery is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                nursery.wait(_END)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(nursery.pid, signal.SIGKILL)
            nursery.wait()
        self._said.close()

    # starting

    def _start(self, ranks: int) -> None:
        control = self._control or self._hatch()
        for module in self._wanted:
            control.sendall(f"import {module}\n".encode())
        self._folder = Path(tempfile.mkdtemp(prefix="pipeproof-"))
        pairs = [Pipe() for _ in range(ranks)]
        try:
            self._set = [_Rank(mine) for mine, _ in pairs]
            told = f"start {self._folder / 'store'}\n".encode()
            socket.send_fds(control, [told], [theirs.fileno() for _, theirs in pairs])
        finally:
            for _, theirs in pairs:
                theirs.close()
        begun: list[Answer[int]] = self._answers(_START, _START)
        for rank, answer in zip(self._set, begun, strict=True):
            match answer:
                case Returned(value=process):
                    rank.process = process
                case Raised() | Stuck():
                    message = f"the ranks do not start: {answer}\n{self._tail()}"
                    raise RuntimeError(message)

    def _hatch(self) -> socket.socket:
        """Start the nursery."""
        mine, theirs = socket.socketpair()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path),
            "GLOO_SOCKET_IFNAME": _LOOPBACK,
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "pipeproof.execution.ranks._nursery", str(theirs.fileno())]
        with theirs:
            self._nursery = subprocess.Popen(  # noqa: S603  our own module
                command,
                env=environment,
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                start_new_session=True,
            )
        self._control = mine
        return mine

    def _tail(self, begin: int = 0) -> str:
        """Return what the processes have printed, its end at most."""
        size = os.fstat(self._said.fileno()).st_size
        begin = max(begin, size - 4000)
        return os.pread(self._said.fileno(), size - begin, begin).decode(errors="replace").strip()

    # listening

    def _answers(self, limit: float, at_most: float, *, starting: bool = False) -> list[Answer[R]]:
        found: dict[int, Answer[R]] = {}
        begun = last = time.monotonic()
        while len(found) < len(self._set):
            open_ = {rank.connection: k for k, rank in enumerate(self._set) if k not in found}
            heard = wait(list(open_), timeout=_POLL)
            for connection in heard:
                k = next(k for each, k in open_.items() if each is connection)
                answer: Answer[R] | None = self._heard(self._set[k])
                if answer is not None:
                    found[k] = answer
            now = time.monotonic()
            if heard or any(self._set[k].is_running() for k in open_.values()):
                last = now
            if now - last >= limit or now - begun >= at_most:
                break
        stuck = {k: Stuck(rank.where) for k, rank in enumerate(self._set)}
        return [found.get(k, stuck[k]) for k in range(len(self._set))]

    def _heard(self, rank: _Rank) -> "Answer[R] | None":
        """Take one message of a rank: its answer, or None for a report."""
        try:
            message = pickle.loads(rank.connection.recv_bytes())  # noqa: S301  our own worker
        except (EOFError, OSError):
            words = self._tail(self._printed)
            text = f"the process ended: {words}" if words else "the process ended"
            return Raised(text, "ProcessEnded", rank.where)
        match message:
            case ("at", where):
                rank.where = where
                return None
            case ("raised", kind, text):
                return Raised(text, kind, rank.where)
            case _:
                return Returned(message[1])
