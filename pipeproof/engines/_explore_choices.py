"""All outcomes of choices in one exploration: states that hold which of them are left.

An instruction that stands in some outcomes only happens once no other outcome is left. What
happens in all that are left happens at once, before anything is chosen; where nothing more can, a
choice is made that something waits for.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_guards import require_reducible
from pipeproof.semantics.choices import Beside, Joint

__all__ = [
    "ChoiceSystem",
    "Counts",
    "State",
    "choice_system",
    "explore_choices",
    "explore_choices_fully",
]

_BYTES = 200  # that a state takes beside its two integers


class State(NamedTuple):
    """Which events have happened, bit by bit, and which outcomes are left."""

    happened: int
    left: int


class _Guard(NamedTuple):
    """An event waits for another in some outcomes."""

    before: int
    where: int


class _Count(NamedTuple):
    """An event waits in some outcomes until at least `least` of `arrivals` have happened."""

    arrivals: int
    least: int
    where: int


class _Asked(NamedTuple):
    """What a node waits for, and the outcomes in which it does so for ever."""

    guards: list[_Guard]
    never: int


class ChoiceSystem:
    """The guards of one order in every outcome, sets of outcomes as bits.

    Guards only ask that events have happened, and are dropped with the outcomes that have them: an
    event that can happen in all outcomes that are left can happen in fewer, too. A choice is made
    where nothing more can happen in all of them, so its guard is negated on all events; choices
    are no eager steps.
    """

    def __init__(
        self, joint: Joint, events: int, picked: Sequence[tuple[tuple[str, str], ...]]
    ) -> None:
        """Make it.

        Args:
            joint: the guards of all outcomes.
            events: how many of its numbers are events; gates are behind.
            picked: what each outcome chose.
        """
        self.events = events
        self.every = (1 << joint.outcomes) - 1
        self.choices = _choices(picked)
        self._gates: dict[int, _Asked] = {}
        self._pairs: list[list[_Guard]] = [[] for _ in range(joint.size)]
        pairs = zip(joint.before.tolist(), joint.after.tolist(), joint.holds, strict=True)
        for before, after, holds in pairs:
            self._pairs[after].append(_Guard(before, _mask(holds)))
        self._never = [_mask(each) for each in joint.never]
        asked = [self._asked(event) for event in range(events)]
        self._guards = [each.guards for each in asked]
        self._able = [_mask(joint.present[e]) & ~each.never for e, each in enumerate(asked)]
        self._counts: list[list[_Count]] = [[] for _ in range(events)]
        for each in joint.counted:
            arrivals = sum(1 << arrival for arrival in each.arrivals)
            self._counts[each.event].append(_Count(arrivals, each.least, _mask(each.holds)))
        self.deferred = frozenset(range(events, events + len(self.choices)))
        self.negated = dict.fromkeys(self.deferred, range(events))
        require_reducible(self.negated, self.deferred)

    def _asked(self, node: int) -> _Asked:
        """Return what a node waits for, gates seen through."""
        guards, never = list[_Guard](), self._never[node]
        for each in self._pairs[node]:
            if each.before < self.events:
                guards.append(each)
                continue
            through = self._through(each.before)
            guards += [_Guard(g.before, g.where & each.where) for g in through.guards]
            never |= through.never & each.where
        return _Asked(guards, never)

    def _through(self, gate: int) -> _Asked:
        """Return what a gate opens with; gates that wait for each other never open."""
        if gate not in self._gates:
            self._gates[gate] = _Asked([], self.every)
            self._gates[gate] = self._asked(gate)
        return self._gates[gate]

    @cached_property
    def after(self) -> list[list[int]]:
        """What waits for each event, of its threshold, too."""
        found: list[list[int]] = [[] for _ in range(self.events)]
        for event in range(self.events):
            arrivals = (_bits(each.arrivals) for each in self._counts[event])
            before = {guard.before for guard in self._guards[event]}.union(*arrivals)
            for each in before:
                found[each].append(event)
        return found

    def where(self, event: int, state: State) -> int:
        """Return the outcomes, of those that are left, in which an event can happen now."""
        found = self._able[event] & state.left
        if state.happened >> event & 1:
            return 0
        for guard in self._guards[event]:
            if not state.happened >> guard.before & 1:
                found &= ~guard.where
        for count in self._counts[event]:
            if (state.happened & count.arrivals).bit_count() < count.least:
                found &= ~count.where
        return found

    def steps(self, state: State) -> Iterator[tuple[int, int]]:
        """Yield what can happen in some outcome that is left, and in which."""
        for event in range(self.events):
            where = self.where(event, state)
            if where:
                yield event, where

    def open_choices(self, state: State) -> list[tuple[int, ...]]:
        """Return the choices that are not made yet: the outcomes of each alternative."""
        found = (tuple(filter(None, (state.left & each for each in own))) for own in self.choices)
        return [each for each in found if len(each) > 1]


def choice_system(beside: Beside) -> ChoiceSystem:
    """Return what each event waits for in every outcome."""
    return ChoiceSystem(beside.joint(lambda model: model.progress), beside.size, beside.picked)


def _choices(picked: Sequence[tuple[tuple[str, str], ...]]) -> list[tuple[int, ...]]:
    """Return, for each choice, the outcomes of each alternative; some choose nothing of it."""
    said = [dict(each) for each in picked]
    names = dict.fromkeys(name for each in said for name in each)
    found = []
    for name in names:
        own: dict[str, int] = {}
        for outcome, each in enumerate(said):
            alternative = each.get(name, "")
            own[alternative] = own.get(alternative, 0) | 1 << outcome
        found.append(tuple(own.values()))
    return found


def _mask(flags: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def explore_choices(system: ChoiceSystem, spent: Spent) -> tuple[int, ...] | None:
    """Return what has happened where nothing more can, for each outcome; None: no budget is left.

    Deterministic steps run to quiescence; there a choice is made that divides the outcomes in
    which something can happen from the others. A layer holds the states after one number of
    choices.
    """
    ends = [0] * len(f"{system.every:b}")
    here, layer = [State(0, system.every)], 0
    while here:
        spent.tell(layer)
        later: list[State] = []
        for each in here:
            state, waiting = _rested(system, each)
            held = (len(here) + len(later)) * (system.events // 8 + _BYTES)
            if not spent.allows((state.happened ^ each.happened).bit_count() + 1, held=held):
                return None
            if not waiting:
                for outcome in _bits(state.left):
                    ends[outcome] = state.happened
                continue
            later += [State(state.happened, some) for some in _dividing(system, state, waiting)]
        here, layer = later, layer + 1
    return tuple(ends)


def _rested(system: ChoiceSystem, state: State) -> tuple[State, int]:
    """Take steps until none can happen in all outcomes that are left.

    Returns:
        The state, and the outcomes of one step that can happen in some of them; 0 for none.
    """
    ready = list(range(system.events))
    while ready:
        event = ready.pop()
        if system.where(event, state) == state.left:
            state = State(state.happened | 1 << event, state.left)
            ready += system.after[event]
    waiting = next((where for _, where in system.steps(state)), 0)
    return state, waiting


def _dividing(system: ChoiceSystem, state: State, waiting: int) -> tuple[int, ...]:
    """Return the alternatives of the choice that tells best in which outcomes a step can happen."""
    others = state.left & ~waiting

    def mixed(alternatives: tuple[int, ...]) -> int:
        return sum(each.bit_count() for each in alternatives if each & waiting and each & others)

    return min(system.open_choices(state), key=mixed)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


class Counts(NamedTuple):
    """States and steps of all interleavings, and where nothing more can happen.

    `complete` is False where a budget ended it.
    """

    states: int
    transitions: int
    ends: frozenset[State]
    complete: bool


def explore_choices_fully(system: ChoiceSystem, spent: Spent) -> Counts:
    """Visit every state of every interleaving, each once.

    A step makes an event happen that can in all outcomes that are left; or, where one can happen in
    some of them only, it makes any of the choices that are open.
    """
    first = State(0, system.every)
    seen, todo, ends, transitions = {first}, [first], set[State](), 0
    while todo:
        state = todo.pop()
        if not spent.allows(1, held=len(seen) * (system.events // 8 + _BYTES)):
            return Counts(len(seen), transitions, frozenset(ends), complete=False)
        following = list(_following(system, state))
        transitions += len(following)
        if not following:
            ends.add(state)
        for each in following:
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return Counts(len(seen), transitions, frozenset(ends), complete=True)


def _following(system: ChoiceSystem, state: State) -> Iterator[State]:
    steps = list(system.steps(state))
    for event, where in steps:
        if where == state.left:
            yield State(state.happened | 1 << event, state.left)
    if any(where != state.left for _, where in steps):
        for alternatives in system.open_choices(state):
            for each in alternatives:
                yield State(state.happened, each)
