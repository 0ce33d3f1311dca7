"""The state before and after each event of an execution: what every event changes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.reports._states_flow import Channels, Meetings, Ranks, Signals
from pipeproof.reports._states_gradients import Gradients
from pipeproof.reports._states_storage import Buffers, Slots
from pipeproof.reports._states_values import Values
from pipeproof.reports._states_weights import Weights
from pipeproof.semantics.model import Model

__all__ = ["GROUPS", "Change", "changes"]

GROUPS = ("ranks", "storage", "versions", "channels", "gradients")
"""What a state is made of, in this order."""

_TRACKERS = (Ranks, Slots, Values, Buffers, Weights, Channels, Signals, Meetings, Gradients)


class Change(NamedTuple):
    """What one event changes: `name` of `group` has `value` after it, empty for nothing there.

    `step` counts events from 0; -1 is what is there before the first one.
    """

    step: int
    group: str
    name: str
    value: str


class _Tracker(Protocol):
    """One part of the state, followed from event to event."""

    group: str

    def begins(self) -> Iterator[tuple[str, str]]:
        """Yield names and values before the first event."""
        ...

    def moments(self) -> Iterable[Iterable[int]]:
        """Return the events that concern it, each at least once."""
        ...

    def happens(self, event: int) -> Iterator[tuple[str, str]]:
        """Take the next event; yield names and the values that they then have."""
        ...


def changes(model: Model, events: IntArray) -> Sequence[Change]:
    """Return what each event of an execution changes, in the order of events.

    The state after an event is what all changes up to its step leave. An instruction does from its
    start to its end what it does: meanwhile storage is owned, a gradient is added to, a version is
    written. A message leaves its channel when it has arrived.

    Args:
        model: the schedule under a transport.
        events: numbers of its events in an order in which they can happen; gates are passed over.
    """
    trackers: list[_Tracker] = [make(model.frame) for make in _TRACKERS]
    state: dict[tuple[str, str], str] = {}
    found: list[Change] = []

    def note(step: int, told: dict[tuple[str, str], str]) -> None:
        for key, value in told.items():
            if state.get(key, "") != value:
                state[key] = value
                found.append(Change(step, *key, value))

    note(-1, {(each.group, name): value for each in trackers for name, value in each.begins()})
    concerned = _concerned(trackers, model.frame.events)
    known = events[events < model.frame.events]
    steps, chosen = np.flatnonzero(events < model.frame.events).tolist(), concerned[known].tolist()
    sets = {bits: [t for n, t in enumerate(trackers) if bits >> n & 1] for bits in set(chosen)}
    for step, event, bits in zip(steps, known.tolist(), chosen, strict=True):
        told: dict[tuple[str, str], str] = {}
        for each in sets[bits]:
            for name, value in each.happens(event):
                told[each.group, name] = value
        note(step, told)
    return found


def _concerned(trackers: Sequence[_Tracker], events: int) -> IntArray:
    """Return which trackers each event concerns, as bits, shape `(events,)`."""
    found = np.zeros(events, np.int64)
    for number, tracker in enumerate(trackers):
        for moments in tracker.moments():
            found[np.fromiter(moments, np.int64)] |= 1 << number
    return found
