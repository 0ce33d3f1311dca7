"""A run on streams that is broken off, and goes on elsewhere from a copy of all that it had."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeproof.execution.streams._state import alike
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.execution.streams.device import Device
from pipeproof.execution.streams.plan import Launch
from pipeproof.execution.streams.running import Modelled, Pace, Running

__all__ = ["Restarted", "restarted"]


class Restarted(NamedTuple):
    """A run that was broken off behind `cut` of `launches`, and what `differs` at its end.

    `under_way` counts the messages that had been read and not been written there.
    """

    cut: int
    launches: int
    under_way: int
    differs: tuple[str, ...]


def restarted(
    model: Modelled, order: Sequence[int], device: Callable[[], Device], *, cut: int, seed: int = 0
) -> Restarted:
    """Compare a run that is broken off and goes on with one that is not, bit by bit.

    What goes on is another set-up on another device, which takes everything from the copy:
    storages, weights, gradients, messages, and what forwards and input gradients left.

    Raises:
        UnsupportedFeatureError: something in the schedule is not run on streams.
    """
    unsplit = Unsplit(model.run, seed)
    whole = Running(model.run, model.match, device(), unsplit)
    launches = whole.plan(model.guards, order)
    whole.play(launches, Pace.ANY, seed)
    broken = Running(model.run, model.match, device(), unsplit)
    broken.play(launches[:cut], Pace.ANY, seed + 1)
    snapshot = broken.kernels.state.snapshot()
    again = Running(model.run, model.match, device(), unsplit)
    again.kernels.restore(snapshot)
    again.play(launches[cut:], Pace.ANY, seed + 2)
    differs = [each.text for each in again.differing()]
    differs += alike(whole.kernels.state.snapshot(), again.kernels.state.snapshot())
    under_way = _under_way(whole, launches[:cut])
    return Restarted(cut, len(launches), under_way, tuple(differs))


def _under_way(running: Running, launches: Sequence[Launch]) -> int:
    first = running.events.first_transfer
    moved = [each.event - first for each in launches if each.event >= first]
    return sum(1 for each in moved if each % 2 == 0) - sum(1 for each in moved if each % 2)
