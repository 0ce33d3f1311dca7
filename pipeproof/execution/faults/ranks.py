"""Ranks as gloo processes: packets travel in real messages, and time is that of the wall."""

import contextlib
import os
import queue
import threading
import time
from typing import NamedTuple

import torch
from torch import distributed

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.faults.injections import Injection, What
from pipeproof.execution.faults.node import Ended, Manner, Node
from pipeproof.execution.faults.packets import Packet, Status, packed, unpacked
from pipeproof.execution.faults.simulated import simulated
from pipeproof.execution.faults.split import Setting, part, refused
from pipeproof.execution.ranks.processes import Processes, Raised, Report, Returned, Stuck

__all__ = ["on_ranks", "rank_of_gloo"]

_TAG = 7
_LIMIT = 60.0
_LONGEST = 240.0
_FLUSH = 5.0


class _Job(NamedTuple):
    """What each rank is given."""

    setting: Setting
    injection: Injection | None
    manner: Manner


class _Wire:
    """Threads that send to and receive from every other rank, until everybody has said the last."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.peers = rank, [each for each in range(ranks) if each != rank]
        self.changed = threading.Condition()
        self.node: Node | None = None
        self._early: list[Packet] = []
        self._queues = {
            peer: queue.SimpleQueue[Packet | threading.Event | None]() for peer in self.peers
        }
        self._timers: list[threading.Timer] = []
        self._threads = [
            threading.Thread(target=target, args=(peer,), daemon=True)
            for peer in self.peers
            for target in (self._sends, self._receives)
        ]
        for each in self._threads:
            each.start()

    def now(self) -> float:
        return time.monotonic()

    def send(self, to: int, packet: Packet, delay: float = 0.0) -> None:
        if delay <= 0:
            self._queues[to].put(packet)
            return
        timer = threading.Timer(delay, self._queues[to].put, (packet,))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _sends(self, peer: int) -> None:
        with contextlib.suppress(RuntimeError):  # the other process has ended
            self._send_all(peer)

    def _receives(self, peer: int) -> None:
        with contextlib.suppress(RuntimeError):
            self._receive_all(peer)

    def _send_all(self, peer: int) -> None:
        while True:
            packet = self._queues[peer].get()
            if isinstance(packet, threading.Event):
                packet.set()
                continue
            said = b"" if packet is None else packed(packet)
            distributed.send(torch.tensor([len(said)]), peer, tag=_TAG)
            if packet is None:
                return
            distributed.send(torch.frombuffer(bytearray(said), dtype=torch.uint8), peer, tag=_TAG)

    def _receive_all(self, peer: int) -> None:
        while True:
            length = torch.zeros(1, dtype=torch.int64)
            distributed.recv(length, peer, tag=_TAG)
            if not length.item():
                return
            said = torch.zeros(int(length.item()), dtype=torch.uint8)
            distributed.recv(said, peer, tag=_TAG)
            packet = unpacked(said.numpy().tobytes())
            if isinstance(packet, Packet):
                self._take(packet)

    def _take(self, packet: Packet) -> None:
        """Answer a question at once, also while the rank computes; keep the rest for it."""
        if packet.what == "ask":
            if self.node is not None:
                self.node.on_packet(packet)
            else:
                begins = Status(None, 0.0, waits=False, sent=0)
                told = Packet("status", self.rank, packet.attempt, packet.number, begins)
                self.send(packet.sender, told)
            return
        with self.changed:
            if self.node is None:
                self._early.append(packet)
            else:
                self.node.on_packet(packet)
            self.changed.notify_all()

    def drive(self, node: Node) -> Ended:
        """Run a rank to its end."""
        steps = node.main()
        with self.changed:
            self.node = node
            for packet in self._early:
                node.on_packet(packet)
            while True:
                try:
                    pause = next(steps)
                except StopIteration as stop:
                    ended: Ended = stop.value
                    return ended
                left = pause.until - self.now()
                self.changed.wait(max(left, 0))
                while pause.busy and (left := pause.until - self.now()) > 0:
                    self.changed.wait(left)

    def flush(self) -> None:
        """Wait until all that was sent has left, as long as that is worth while."""
        for each in self._queues.values():
            left = threading.Event()
            each.put(left)
            left.wait(_FLUSH)

    def close(self) -> None:
        """Say the last to everybody and wait until everybody has: no thread remains."""
        for timer in self._timers:
            timer.cancel()
            timer.join()
        for each in self._queues.values():
            each.put(None)
        for thread in self._threads:
            thread.join()


def rank_of_gloo(said: bytes, report: Report) -> Ended:
    """Be one rank of a run; what it is given comes packed. One that is to stop ends its process."""
    job = unpacked(said)
    if not isinstance(job, _Job):
        message = f"a rank was given {type(job).__name__} in process {os.getpid()}"
        raise TypeError(message)
    setting = job.setting
    rank = distributed.get_rank()
    wire = _Wire(rank, setting.run.schedule.ranks)
    try:
        report("its first steps")
        simulated(setting)  # what torch does only once is done before anybody looks at the clock
        report("its program")
        made = Node(rank, lambda flip: part(setting, flip), job.injection, wire, job.manner)
        ended = wire.drive(made)
        if ended.outcome == "stopped":
            wire.flush()
            os._exit(0)
        return ended
    finally:
        wire.close()


def on_ranks(
    processes: Processes,
    setting: Setting,
    injection: Injection | None = None,
    manner: Manner | None = None,
) -> list[Ended]:
    """Run every rank of a schedule as a gloo process, and return how each ended.

    Raises:
        RuntimeError: a rank did not end by itself.
        UnsupportedFeatureError: the schedule cannot be run so.
    """
    why = refused(setting.run)
    if why:
        raise UnsupportedFeatureError(why)
    said = packed(_Job(setting, injection, manner or Manner()))
    payloads = [said] * setting.run.schedule.ranks
    ended: list[Ended] = []
    stops = injection is not None and injection.what is What.STOPS
    for answer in processes.call(rank_of_gloo, payloads, limit=_LIMIT, at_most=_LONGEST):
        match answer:
            case Returned(value=value):
                ended.append(value)
            case Raised(type="ProcessEnded") if stops:
                ended.append(Ended(len(ended), "stopped", (), {}, {}))
            case Raised(text=text, type=kind):
                message = f"a rank ended with {kind}: {text}"
                raise RuntimeError(message)
            case Stuck(where=where):
                message = f"a rank did not come to its end: {where}"
                raise RuntimeError(message)
    return ended
