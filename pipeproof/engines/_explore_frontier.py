"""Where an exploration stands: kept as bytes, and taken up again."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_guards import System, Walk, bits_of, choices, events_of
from pipeproof.errors import InputError, Problem
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.model import Graph

__all__ = ["Frontier", "Reached", "explore", "fingerprint"]

_FORMAT = "pipeproof frontier 1"
_NUMBER = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Frontier:
    """What an exploration that ran out of budget has yet to look at, and what it has found.

    `of` is the fingerprint of what is explored; `states` are those of the layer at hand, as
    integers, and `later` those of the next one that are known. Whoever changes a saved frontier
    changes what is found: it is a bookmark and proves nothing.
    """

    of: str
    layer: int
    states: tuple[int, ...]
    later: tuple[int, ...] = ()
    tallies: Mapping[str, int] = field(default_factory=dict)
    seen: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def save(self) -> bytes:
        """Return it as bytes, JSON."""
        content = {
            "format": _FORMAT,
            "of": self.of,
            "layer": self.layer,
            "states": [f"{state:x}" for state in self.states],
            "later": [f"{state:x}" for state in self.later],
            "tallies": dict(self.tallies),
            "seen": {name: [f"{each:x}" for each in found] for name, found in self.seen.items()},
        }
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def load(cls, data: bytes) -> "Frontier":
        """Return the frontier that `save` wrote.

        Raises:
            InputError: the bytes are no frontier.
        """
        try:
            content = json.loads(data)
            if content["format"] != _FORMAT:
                _refuse("another format")
            return cls(
                of=str(content["of"]),
                layer=_count(content["layer"]),
                states=_numbers(content["states"]),
                later=_numbers(content["later"]),
                tallies={str(name): _count(n) for name, n in content["tallies"].items()},
                seen={str(name): _numbers(found) for name, found in content["seen"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            _refuse("no frontier", error)

    def require(self, of: str) -> None:
        """Demand that it belongs to what is explored.

        Raises:
            InputError: it belongs to something else.
        """
        if self.of != of:
            _refuse("the frontier of another schedule, transport or question")

    def require_events(self, events: int) -> None:
        """Demand that it holds states of so many events, and those to go on from.

        Raises:
            InputError: it holds others, or none where more are to come.
        """
        ends = self.seen.get("ends")
        known = (*self.states, *self.later, *(ends or ()))
        if ends is None or any(each >> events for each in known):
            _refuse("states of another schedule")
        if self.later and not self.states:
            _refuse("no state to go on from")


def _numbers(texts: Iterable[str]) -> tuple[int, ...]:
    if not isinstance(texts, list):
        message = "no list"
        raise TypeError(message)
    return tuple(_number(text) for text in texts)


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        message = "no number of base 16"
        raise ValueError(message)
    return int(text, 16)


def _count(number: int) -> int:
    if type(number) is not int or number < 0:
        message = "no number of things"
        raise ValueError(message)
    return number


def _refuse(found: str, cause: Exception | None = None) -> NoReturn:
    expected = "expected the frontier that was saved"
    raise InputError([Problem("frontier", 1, 1, found, expected)]) from cause


def fingerprint(graph: Graph, mode: str, *questions: IntArray) -> str:
    """Return a name for what is explored: the guards, how, and what is asked."""
    digest = hashlib.sha256(f"{mode} {graph.size}".encode())
    thresholds = [
        np.concatenate((credit.drained, credit.arrived, [credit.capacity]))
        for credit in graph.credits
    ]
    marks = (graph.never, graph.held)
    for array in (graph.before, graph.after, *marks, *thresholds, *questions):
        digest.update(f"|{len(array)}|".encode())
        digest.update(np.asarray(array, np.int64).tobytes())
    return digest.hexdigest()


class Reached(NamedTuple):
    """What the reduced exploration reached.

    `ends` are the states in which nothing more can happen. Where the budget ran out, `frontier`
    is what is left, and `covered` are states that were reached and need be no ends.
    """

    ends: tuple[int, ...]
    layers: int
    frontier: Frontier | None
    covered: tuple[int, ...] = ()


def explore(system: System, spent: Spent, of: str, frontier: Frontier | None = None) -> Reached:
    """Run deterministic steps to quiescence, and branch only on choices.

    A layer holds the quiescent states after one number of choices; every choice is an event of
    its own, so equal states have equal numbers of them and no state is kept once its layer is
    left.
    """
    if frontier is not None:
        frontier.require(of)
        frontier.require_events(system.events)
        spent.earlier = frontier.tallies.get("states", 0)
    spent.exploring = True
    size = system.events // 8 + 1
    here = list(frontier.states) if frontier else [0]
    later = set(frontier.later) if frontier else set()
    ends = set(frontier.seen["ends"]) if frontier else set()
    layer = frontier.layer if frontier else 0
    while here:
        spent.tell(layer)
        while here:
            state, rested = _quiesce(system, here.pop(), spent)
            held = size * (1 + len(here) + len(later) + len(ends))
            if not rested or not spent.allows(held=held):
                left = (*here, state)
                seen = {"ends": tuple(sorted(ends))}
                tallies = {"states": spent.total}
                stop = Frontier(of, layer, left, tuple(sorted(later)), tallies, seen)
                return Reached((), layer, stop, left)
            steps = choices(system, state)
            later |= {state | 1 << step for step in steps}
            ends |= set() if steps else {state}
        here, later, layer = sorted(later), set(), layer + 1
    spent.exploring = False
    return Reached(tuple(sorted(ends)), layer, None)


def _quiesce(system: System, state: int, spent: Spent) -> tuple[int, bool]:
    walk = Walk(system, happened=events_of(state, system.events))
    rested = walk.run(spent)
    return bits_of(walk.state, system.events), rested
