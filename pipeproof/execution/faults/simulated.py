"""Ranks in one process, in a time of their own: the same run every time, and no waiting."""

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from pipeproof.execution.faults.injections import Injection
from pipeproof.execution.faults.node import Ended, Manner, Node
from pipeproof.execution.faults.packets import Packet
from pipeproof.execution.faults.split import Setting, part

if TYPE_CHECKING:
    from pipeproof.execution.faults._asking import Pause, Steps

__all__ = ["simulated"]

_TRAVEL = 1e-3  # of an observation window of a second


class _Clock:
    """What is to happen, in order of time."""

    def __init__(self) -> None:
        self.time = 0.0
        self._numbers = count()
        self._due: list[tuple[float, int, int, Packet | None]] = []

    def at(self, time: float, rank: int, packet: Packet | None) -> int:
        """Let a packet come to a rank, or wake it, at a time."""
        number = next(self._numbers)
        heappush(self._due, (time, number, rank, packet))
        return number

    def next(self) -> tuple[int, int, Packet | None] | None:
        """Return what happens next."""
        if not self._due:
            return None
        self.time, number, rank, packet = heappop(self._due)
        return number, rank, packet


class _Wire:
    def __init__(self, clock: _Clock, window: float) -> None:
        self.clock, self.travel = clock, _TRAVEL * window

    def send(self, to: int, packet: Packet, delay: float = 0.0) -> None:
        self.clock.at(self.clock.time + delay + self.travel, to, packet)

    def now(self) -> float:
        return self.clock.time


class _Running:
    """One rank as the clock drives it."""

    def __init__(self, node: Node, clock: _Clock) -> None:
        self.node, self.clock = node, clock
        self.steps: Steps[Ended] = node.main()
        self.ended: Ended | None = None
        self.busy = False
        self.alarm = -1

    def go_on(self) -> None:
        """Run to the next pause, or to the end."""
        try:
            pause: Pause = next(self.steps)
        except StopIteration as stop:
            self.ended = stop.value
            return
        self.busy = pause.busy
        self.alarm = self.clock.at(pause.until, self.node.rank, None)


def simulated(
    setting: Setting,
    injection: Injection | None = None,
    manner: Manner | None = None,
    kind: type[Node] = Node,
) -> list[Ended]:
    """Run every rank of a schedule in one process, and return how each ended.

    Args:
        setting: the schedule.
        injection: what goes wrong, if anything does.
        manner: how the ranks watch.
        kind: what a rank is.

    Raises:
        UnsupportedFeatureError: the schedule cannot be run so.
    """
    own, clock = manner or Manner(), _Clock()
    wire = _Wire(clock, own.window)
    ranks = range(setting.run.schedule.ranks)
    running = [
        _Running(kind(rank, lambda flip: part(setting, flip), injection, wire, own), clock)
        for rank in ranks
    ]
    for each in running:
        each.go_on()
    while (due := clock.next()) is not None:
        number, rank, packet = due
        each = running[rank]
        if packet is not None:
            each.node.on_packet(packet)
        woken = packet is not None and not each.busy
        if each.ended is None and (woken or number == each.alarm):
            each.go_on()
    return [each.ended for each in running if each.ended is not None]
