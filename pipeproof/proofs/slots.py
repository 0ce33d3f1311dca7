"""How many slots a pool needs: every count that is safe, for every interleaving."""

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pipeproof.engines import graph
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.schedule import Plain, Schedule
from pipeproof.ir.storage import Stored, Touch
from pipeproof.ir.transport import Transport
from pipeproof.lowering import storage
from pipeproof.lowering.communicators import joined, splits_calls
from pipeproof.lowering.lower import lower
from pipeproof.lowering.outcomes import has_choices
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules

__all__ = ["POOLS", "SafeSlots", "safe_slots"]

POOLS = ("receive", "send", "stash")
_GUARDED = ("PP301", "PP5")
_HAZARDS = ("PP5",)
_CHOICES = "slots are counted only where the runtime has no choice (CHOOSE, any, order: ready)"

_Claim = Callable[[int], bool]
_Found = frozenset[tuple[str, tuple[tuple[int, int], ...]]]


class SafeSlots(NamedTuple):
    """The counts of slots with which a pool is safe.

    `safe` are those up to `largest`; from there on all counts are alike, and `rest` says whether
    they are safe. `described` is the count that the file asks for, None where it has no such pool.
    """

    pool: str
    slot: str
    guard: str
    safe: tuple[int, ...]
    largest: int
    rest: bool
    described: int | None

    def __str__(self) -> str:
        """Say which counts are safe: `safe with 2, or from 4 on`."""
        counts = [*self.safe]
        if not self.rest:
            return f"safe with {_listed(counts)} only" if counts else "safe with no number of slots"
        first = self.largest
        while counts and counts[-1] == first - 1:
            first = counts.pop()
        if first == 1:
            return "safe with any number of slots"
        return (
            f"safe with {_listed(counts)}, or from {first} on"
            if counts
            else f"safe from {first} on"
        )


def _listed(counts: list[int]) -> str:
    return " or ".join(str(each) for each in counts)


def safe_slots(schedule: Schedule, transports: tuple[Transport, ...]) -> tuple[SafeSlots, ...]:
    """Return for each pool that the schedule uses, or could use, the counts that are safe.

    A pool that the file does not describe is taken as `microbatch mod slots` without guard. A count
    is safe if, under every transport, the pool breaks no rule that the schedule without it keeps:
    no hazard, and with a guard no deadlock. Where values enter a pool in ascending order more slots
    are never worse, and the least count is found by halving; else every count is tried.

    Raises:
        UnsupportedFeatureError: the runtime chooses what is executed, or in which order.

    Source: a slot is reused safely if every reader of its value comes before the next writer
    (anti-dependence, Bernstein 1966).
    """
    trial = _Trial(schedule, transports)
    return tuple(found for pool in POOLS if (found := trial.pool(pool)) is not None)


class _Trial:
    """One schedule, judged with pools of different sizes."""

    def __init__(self, schedule: Schedule, transports: tuple[Transport, ...]) -> None:
        self.transports = transports
        self.run = lower(schedule)
        if has_choices(self.run) or "ready" in schedule.described:
            raise UnsupportedFeatureError(_CHOICES)
        described = schedule.described.get("storage", {})
        self.described: Mapping[str, Plain] = described if isinstance(described, Mapping) else {}
        self._rules = all_rules()

    def pool(self, name: str) -> SafeSlots | None:
        said = self.described.get(name)
        own: Mapping[str, Plain] = said if isinstance(said, Mapping) else {}
        if own.get("take") == "any":
            return None  # a choice: slots have no names
        single = self._with(name, {**own, "slots": "1"}).storage
        if single is None or not (mine := _storages(single, name)):
            return None
        ids = [_puts(single, each) for each in mine]
        by_use = own.get("slot") == "use mod slots"
        largest = max(len(each) for each in ids) if by_use else 1 + max(max(each) for each in ids)
        rising = by_use or all(each == sorted(each) for each in ids)
        guard = str(own.get("guard", "none"))
        wanted = _GUARDED if guard == "wait" else _HAZARDS
        chosen = tuple(rule for rule in self._rules if rule.code.startswith(wanted))
        without = self._broken(self._with(name, None), chosen)

        def is_safe(count: int) -> bool:
            run = self._with(name, {**own, "slots": str(count)})
            return self._broken(run, chosen) <= without

        safe = _least(largest, is_safe) if rising else _each(largest, is_safe)
        said_slots = own.get("slots")
        return SafeSlots(
            pool=name,
            slot=str(own.get("slot", "microbatch mod slots")),
            guard=guard,
            safe=tuple(each for each in safe if each < largest),
            largest=largest,
            rest=largest in safe,
            described=int(str(said_slots)) if said_slots is not None else None,
        )

    def _with(self, name: str, pool: Mapping[str, Plain] | None) -> AsRun:
        pools = {key: value for key, value in self.described.items() if key != name}
        if pool is not None:
            pools[name] = MappingProxyType(dict(pool))
        described = {**self.run.schedule.described, "storage": MappingProxyType(pools)}
        schedule = dataclasses.replace(self.run.schedule, described=MappingProxyType(described))
        run = dataclasses.replace(self.run, schedule=schedule, storage=None)
        return dataclasses.replace(run, storage=storage.write_in(run))

    def _broken(self, run: AsRun, rules: tuple[Rule, ...]) -> _Found:
        found: set[tuple[str, tuple[tuple[int, int], ...]]] = set()
        for transport in self.transports:
            own = run if splits_calls(run, transport) else joined(run)
            decision = graph.decide(Model(own, transport, write_in(own, transport.wait)), rules)
            for each in decision.broken:
                spots = tuple((spot.event, spot.row) for spot in each.finding.spots)
                found.add((f"{transport.name} {each.rule.code}", spots))
        return frozenset(found)


def _storages(stored: Stored, name: str) -> list[int]:
    return [n for n, label in enumerate(stored.labels) if label == f"slot 0 of {name}"]


def _puts(stored: Stored, number: int) -> list[int]:
    """Return the microbatches of what is put into a storage, in order of time."""
    puts = (stored.storage == number) & (stored.touch == Touch.WRITE)
    return [int(value) & 0xFFFFFFFF for value in stored.values[np.flatnonzero(puts)]]


def _least(largest: int, is_safe: _Claim) -> list[int]:
    """Return the safe counts, where more is never worse."""
    low, high = 1, largest + 1
    while low < high:
        middle = (low + high) // 2
        if middle <= largest and not is_safe(middle):
            low = middle + 1
        else:
            high = middle
    return list(range(low, largest + 1))


def _each(largest: int, is_safe: _Claim) -> list[int]:
    return [count for count in range(1, largest + 1) if is_safe(count)]
