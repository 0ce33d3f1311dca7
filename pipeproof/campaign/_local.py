"""Tasks on processes of this machine; one that is killed, hangs or crashes loses only its task."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait  # noqa: A004
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from threading import Event, Thread

from pebble import ProcessExpired, ProcessPool

from pipeproof.campaign.executor import TOO_MUCH, Ended, Limits, Perform, attempt
from pipeproof.campaign.task import Task
from pipeproof.campaign.work import perform as by_kind

__all__ = ["GRACE", "Local", "Seat"]

_RECYCLED = 500  # tasks after which a worker gives way to a new one
GRACE = 30.0  # seconds beyond the guard after which a worker is given up
_LOOK = 1.0  # seconds between two looks at whether one is to be given up
_OFTEN = 0.02  # seconds between two looks at the memory of a worker
_BEHIND = 1 << 30  # bytes beyond the guard at which the system's own limit stands
_TOO_MUCH = 86  # the exit code of a worker that held too much
_JOIN = 5.0  # seconds that a worker has to end
_JUDGES = "pipeproof.campaign.judged"  # what most tasks import
_LOST = "its worker was lost"


class Local:
    """Runs tasks on worker processes that can be killed one by one."""

    def __init__(self, workers: int, perform: Perform = by_kind) -> None:
        """Take how many workers there are, and what a task does: a function of a module.

        Raises:
            ValueError: there is to be no worker.
        """
        if workers < 1:
            message = f"{workers} workers; expected 1 or more"
            raise ValueError(message)
        self.workers, self.perform = workers, perform

    def run(self, tasks: Iterable[Task], limits: Limits) -> Generator[Ended, None, None]:
        """Yield the tasks in the order in which they end."""
        waiting = iter(tasks)
        seats: list[Seat] = []
        try:
            for task in waiting:
                seats.append(Seat(self.perform, limits))
                seats[-1].begin(task)
                if len(seats) == self.workers:
                    break
            yield from _turns(seats, waiting)
        finally:
            for seat in seats:
                seat.stop()
            for seat in seats:
                seat.close()


def _turns(seats: "list[Seat]", waiting: Iterator[Task]) -> Iterator[Ended]:
    """Give each seat that becomes free the next task."""
    busy = list(seats)
    while busy:
        wait([each.future for each in busy], _LOOK, FIRST_COMPLETED)
        for seat in [each for each in busy if each.is_over()]:
            ended = seat.end()
            if ended is None:
                continue
            following = next(waiting, None)
            if following is None:
                busy.remove(seat)
            else:
                seat.begin(following)
            yield ended


class Seat:
    """A worker process, and the task it is at.

    It is a pool of one, so that what a killed worker leaves behind, a lock that is held or half
    an answer, is nobody else's; after that the pool is given up with it.
    """

    def __init__(self, perform: Perform, limits: Limits) -> None:
        """Take what tasks do and their guards; the worker starts with its first task."""
        self.perform, self.limits = perform, limits
        self._pool: ProcessPool | None = None
        self._began, self._tries = 0.0, 0
        self._task = Task("", {})
        self.future: Future[Ended] = Future()

    def begin(self, task: Task) -> None:
        """Give the worker a task."""
        self._task, self._tries = task, 0
        self._start()

    def _start(self) -> None:
        self._began = time.monotonic()
        self._tries += 1
        arguments = (self.perform, self._task, self.limits.memory)
        for _ in range(2):
            if self._pool is None:
                self._pool = _pool(self.perform)
            with suppress(RuntimeError):  # the pool found out that its idle worker was lost
                self.future = self._pool.schedule(
                    _guarded, args=arguments, timeout=self.limits.seconds
                )
                return
            self._give_up()
        self.future = Future()
        self.future.set_exception(BrokenProcessPool(_LOST))

    def is_over(self) -> bool:
        """Return whether the task has ended, or its worker answers no more."""
        late = time.monotonic() - self._began > self.limits.seconds + GRACE
        return self.future.done() or late

    def end(self) -> Ended | None:
        """Return how the task has ended; None if it is begun anew, for it was not its fault."""
        try:
            return self.future.result(timeout=0)
        except (TimeoutError, ProcessExpired, BrokenProcessPool) as error:
            took = time.monotonic() - self._began
            self._give_up()
            clock_jumped = isinstance(error, TimeoutError) and took < self.limits.seconds
            if self._tries == 1 and (clock_jumped or isinstance(error, BrokenProcessPool)):
                self._start()
                return None
            return self._failed(error)

    def _failed(self, error: Exception) -> Ended:
        match error:
            case ProcessExpired() if int(error.exitcode) == _TOO_MUCH:
                return Ended(self._task, "memory", None, TOO_MUCH)
            case ProcessExpired():
                ending = _ending(int(error.exitcode))
                killed = ending in {"SIGKILL", "SIGTERM"}
                why = f"its worker ended by {ending}"
                return Ended(self._task, "killed" if killed else "crashed", None, why)
            case TimeoutError():
                why = f"it took more than {self.limits.seconds:g} s"
                return Ended(self._task, "timeout", None, why)
            case _:
                return Ended(self._task, "killed", None, _LOST)

    def stop(self) -> None:
        """Ask the worker to end at once."""
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]  # pebble gives it no types

    def close(self) -> None:
        """End the worker, whatever it does."""
        self._give_up()

    def _give_up(self) -> None:
        """End the pool; a thread of it that waits for what never comes is left to itself."""
        self.stop()
        pool, self._pool = self._pool, None
        if pool is not None:
            ending = Thread(target=pool.join, daemon=True)
            ending.start()
            ending.join(_JOIN)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def _pool(perform: Perform) -> ProcessPool:
    context = _context(perform.__module__)
    with _sigint_blocked():
        if sys.platform != "win32":
            forkserver.ensure_running()
        return ProcessPool(1, max_tasks=_RECYCLED, initializer=_settle, context=context)


def _context(module: str) -> BaseContext:
    """Return how workers start: forked from a server that holds what tasks need, and no threads."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    needed = [_JUDGES] if module == by_kind.__module__ else []
    context.set_forkserver_preload([__name__, module, *needed])
    return context


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Let what starts meanwhile inherit that Ctrl-C is not for it: the driver ends its workers."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settle() -> None:
    """Prepare a worker: it ends at once when asked to, and when whoever started it is gone.

    A thread waits for that; on Linux a signal tells it too, for code that lets no thread run.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if sys.platform == "linux" and parent is not None:
        import fcntl  # noqa: PLC0415  not there on every system

        signal.signal(signal.SIGIO, signal.SIG_DFL)  # which ends the process
        flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
        fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)
    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _guarded(perform: Perform, task: Task, memory: int) -> Ended:
    """Do a task with so much memory at most."""
    with _memory(memory):
        return attempt(perform, task)


@contextmanager
def _memory(most: int) -> Iterator[None]:
    """End this process when it holds so many bytes more than now.

    A limit of the system alone would not do: what runs into it raises whatever it likes, and an
    engine that takes that for an answer would make the answer depend on the guard. It stands far
    behind, for what asks for too much at once.
    """
    if sys.platform != "linux":
        yield
        return
    import resource  # noqa: PLC0415  not there on every system

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    size, resident = _held()
    behind = size + 2 * most + _BEHIND
    resource.setrlimit(resource.RLIMIT_AS, (behind if hard < 0 else min(behind, hard), hard))
    done = Event()
    Thread(target=_look_at_memory, args=(resident + most, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def _look_at_memory(most: int, done: Event) -> None:
    while not done.wait(_OFTEN):
        if _held()[1] > most:
            os._exit(_TOO_MUCH)


def _held() -> tuple[int, int]:
    """Return how many bytes of address space this process has, and how many of memory."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  many times a second
        size, resident, *_ = map(int, file.read().split())
    page = os.sysconf("SC_PAGE_SIZE")
    return size * page, resident * page
