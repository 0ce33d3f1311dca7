"""Tasks on the machines of a Ray cluster; a node that is lost loses only time."""

import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from types import ModuleType
from typing import NamedTuple, NoReturn

from pipeproof import __version__
from pipeproof.campaign._local import GRACE, Seat
from pipeproof.campaign.executor import Ended, Limits, Perform
from pipeproof.campaign.task import Task
from pipeproof.campaign.work import perform as by_kind
from pipeproof.errors import Problem, UsageError, printable

__all__ = ["Cluster"]

_LOOK = 1.0  # seconds between two looks at how large the cluster is, and who is late
_TRIES = 3  # how often a task is given out whose worker is lost
_ASK = "expected the address of one whose nodes have the same pipeproof, as 10.0.0.1:6379"
_KNOCK = 10.0  # seconds until a cluster that is silent is taken to be none
_EMPTY = 60.0  # seconds that a cluster may be without a processor
_STARTS = 5  # how many workers may fail to start, one after the other


class Cluster:
    """Runs tasks on every processor of a cluster, as many as there are at the time.

    On each stands a worker as on one machine, with the same guards. A task whose node is lost is
    given to another; the driver, which writes the store, is the only one that must survive.
    """

    def __init__(self, address: str | None = None, perform: Perform = by_kind) -> None:
        """Take the address of a cluster, None to start one here, and what a task does."""
        self.address, self.perform = address, perform

    def run(self, tasks: Iterable[Task], limits: Limits) -> Generator[Ended, None, None]:
        """Yield the tasks in the order in which they end.

        Raises:
            UsageError: Ray is not installed, no cluster answers, or it has no worker for us.
        """
        ray = _imported()
        with _connected(ray, self.address):
            hands = _Hands(ray, self.perform, limits)
            try:
                yield from hands.turns(tasks)
            finally:
                hands.dismiss()


def _imported() -> ModuleType:
    try:
        import ray  # noqa: PLC0415  an extra, and slow
    except ImportError:
        _refuse("Ray is not installed", "pip install 'pipeproof[ray]'")
    found: ModuleType = ray
    return found


@contextmanager
def _connected(ray: ModuleType, address: str | None) -> Iterator[None]:
    """Be the driver of a cluster meanwhile; Ray's own way of taking signals is not ours."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        _connect(ray, address)
        if is_main:
            signal.signal(signal.SIGTERM, before)
        yield
    finally:
        ray.shutdown()
        if is_main:
            signal.signal(signal.SIGTERM, before)


def _connect(ray: ModuleType, address: str | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address:
        _knock(address)
    more = {} if address else {"include_dashboard": False}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level="CRITICAL", **more)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"at {printable(address)}" if address else "on this machine"
        said = printable(" ".join(str(error).split()), 200)
        _refuse(f"no Ray cluster answers {where}: {said}", _ASK)


def _knock(address: str) -> None:
    """Look whether anything listens at HOST:PORT: Ray itself would try for minutes.

    Raises:
        UsageError: nothing does.
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not (port.isascii() and port.isdigit()):
        return  # `auto`, `ray://...`: Ray knows
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK).close()
    except (OSError, OverflowError) as error:
        said = printable(str(error))
        _refuse(f"no Ray cluster answers at {printable(address)}: {said}", _ASK)


class _Hand:
    """On a node: a worker process of its own that does one task after the other."""

    def __init__(self, perform: Perform, limits: Limits) -> None:
        self.seat = Seat(perform, limits)

    def version(self) -> str:
        """Return which pipeproof this node has; keys of tasks hold it."""
        return __version__

    def do(self, task: Task) -> Ended:
        """Do a task under its guards."""
        self.seat.begin(task)
        while True:
            wait([self.seat.future], _LOOK)
            ended = self.seat.end() if self.seat.is_over() else None
            if ended is not None:
                return ended


class _Try(NamedTuple):
    task: Task
    number: int


class _At(NamedTuple):
    """What a hand is at since when: a task, or nothing while it starts."""

    hand: object
    work: _Try | None
    since: float


class _Hands:
    """All workers of a campaign, seen from its driver."""

    def __init__(self, ray: ModuleType, perform: Perform, limits: Limits) -> None:
        self.ray, self.limits = ray, limits
        self.new = partial(
            ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Hand).remote,
            perform,
            limits,
        )
        self.at: dict[object, _At] = {}  # by what it will answer
        self.idle: list[object] = []
        self.again: deque[_Try] = deque()
        self.failed = 0
        self.looked = self.had = time.monotonic() - 2 * _LOOK

    def turns(self, tasks: Iterable[Task]) -> Iterator[Ended]:
        """Give out the tasks until each has ended."""
        waiting = iter(tasks)
        while self._is_more(waiting) or any(each.work for each in self.at.values()):
            self._hire()
            while self.idle and self._is_more(waiting):
                hand, work = self.idle.pop(), self.again.popleft()
                self.at[hand.do.remote(work.task)] = _At(hand, work, time.monotonic())  # type: ignore[attr-defined]  # of Ray
            for answer in self._answers():
                ended = self._taken(answer, self.at.pop(answer))
                if ended is not None:
                    yield ended

    def dismiss(self) -> None:
        """End all workers."""
        for hand in [*self.idle, *(each.hand for each in self.at.values())]:
            self._end(hand)

    def _is_more(self, waiting: Iterator[Task]) -> bool:
        if not self.again:
            self.again.extend(_Try(task, 1) for task in islice(waiting, 1))
        return bool(self.again)

    def _hire(self) -> None:
        """Start workers on processors that have none.

        Raises:
            UsageError: the cluster has had no processor for a while.
        """
        now = time.monotonic()
        if not self.again or now - self.looked < _LOOK:
            return
        self.looked = now
        processors = int(self.ray.cluster_resources().get("CPU", 0))
        if processors:
            self.had = now
        elif now - self.had > _EMPTY:
            _refuse("its cluster has no processor", "expected one at least")
        for _ in range(processors - len(self.idle) - len(self.at)):
            hand = self.new()
            self.at[hand.version.remote()] = _At(hand, None, now)

    def _answers(self) -> list[object]:
        """Wait a little for what has an answer, or has been without one for too long."""
        if not self.at:
            time.sleep(_LOOK / 4)
            return []
        ready, _ = self.ray.wait(list(self.at), num_returns=1, timeout=_LOOK)
        since = time.monotonic() - self.limits.seconds - 2 * GRACE
        return [*ready, *(a for a, at in self.at.items() if at.work and at.since < since)]

    def _taken(self, answer: object, at: _At) -> Ended | None:
        try:
            said = self.ray.get(answer, timeout=_LOOK)
        except self.ray.exceptions.RayError as error:
            self._end(at.hand)
            return self._lost(at.work, str(error))
        self.failed = 0
        self.idle.append(at.hand)
        if isinstance(said, Ended):
            return said
        if said != __version__:
            _refuse(f"a node has pipeproof {said}", f"this one is {__version__}")
        return None

    def _lost(self, work: _Try | None, why: str) -> Ended | None:
        if work is None:
            self.failed += 1
            if self.failed >= _STARTS and not self.idle and not self.at:
                said = " ".join(why.split())[-200:]
                _refuse(f"no worker starts on its cluster: {printable(said, 200)}", _ASK)
        elif work.number < _TRIES:
            self.again.append(work._replace(number=work.number + 1))
        else:
            return Ended(work.task, "killed", None, f"its node was lost {_TRIES} times")
        return None

    def _end(self, hand: object) -> None:
        with suppress(self.ray.exceptions.RayError):
            self.ray.kill(hand, no_restart=True)


def _refuse(found: str, expected: str) -> NoReturn:
    raise UsageError([Problem("--ray-address", 1, 1, found, expected)])
