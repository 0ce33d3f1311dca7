"""Every interleaving of a model in plain sets: slow, short, and nothing like the engines."""

from collections.abc import Iterator
from typing import NamedTuple

from pipeproof.semantics.model import Graph, Model

__all__ = ["Naive", "naive"]

State = frozenset[int]


class Naive(NamedTuple):
    """What there is: states by layer, steps, and where nothing more can happen."""

    layers: tuple[frozenset[State], ...]
    transitions: int
    ends: frozenset[State]

    @property
    def states(self) -> list[State]:
        """All states, those with the fewest events first."""
        return [state for layer in self.layers for state in layer]

    def fewest(self, after: int, before: int) -> int | None:
        """How many events the shortest run has to where one has happened and another has not."""
        found = (len(s) for s in self.states if after in s and before not in s)
        return next(found, None)

    def always_before(self, event: int) -> State:
        """What has happened in every state in which `event` has, but itself."""
        with_it = [state for state in self.states if event in state]
        return frozenset.intersection(*with_it) - {event}


class _Guards:
    """The guards of a graph, asked one event at a time."""

    def __init__(self, model: Model, graph: Graph) -> None:
        self.events = model.events
        self.graph = graph
        self.before: dict[int, list[int]] = {}
        for left, right in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
            self.before.setdefault(right, []).append(left)

    def enabled(self, state: State) -> Iterator[int]:
        for event in range(self.events):
            if event not in state and self.holds(event, state) and self.credited(event, state):
                yield event

    def holds(self, node: int, state: State) -> bool:
        """Whether nothing that a node waits for is missing; a gate is there once it holds."""
        return not self.graph.never[node] and all(
            each in state if each < self.events else self.holds(each, state)
            for each in self.before.get(node, ())
        )

    def credited(self, event: int, state: State) -> bool:
        for credit in self.graph.credits:
            for number, send in enumerate(credit.drained.tolist()):
                missing = sum(each not in state for each in credit.arrived[:number].tolist())
                if send == event and missing >= credit.capacity:
                    return False
        return True


def naive(model: Model, graph: Graph) -> Naive:
    """Visit every state; weak messages move like all others."""
    guards = _Guards(model, graph)
    layers, ends, transitions = [frozenset({State()})], set[State](), 0
    while layers[-1]:
        following: set[State] = set()
        for state in layers[-1]:
            steps = [state | {event} for event in guards.enabled(state)]
            transitions += len(steps)
            following.update(steps)
            ends |= set() if steps else {state}
        layers.append(frozenset(following))
    return Naive(tuple(layers[:-1]), transitions, frozenset(ends))
