"""Every interleaving of a model in plain sets: slow, short, and nothing like the engines."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeproof.semantics.choices import Settled
from pipeproof.semantics.model import Graph, Model

__all__ = ["Naive", "naive", "naive_outcomes"]

State = frozenset[int]
Words = frozenset[str]
Left = frozenset[int]


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


def _words(model: Model) -> list[str]:
    """What each event is, told by where it stands."""
    frame, ops, pairing = model.frame, model.frame.ops, model.frame.pairing
    found: list[str] = []
    for row in ops.first_row.tolist():
        place = f"r{ops.rank[row]}.{ops.position[row]}"
        found += [f"start {place}", f"done {place}"]
    found += [f"end r{rank}" for rank in range(frame.ranks)]
    for ends in zip(pairing.send.tolist(), pairing.receive.tolist(), strict=True):
        said = [
            f"r{ops.rank[e]}.{ops.position[e]}.{ops.member[e]}" if e >= 0 else "-" for e in ends
        ]
        found += [f"drained {said}", f"arrived {said}"]
    return found


class Together(NamedTuple):
    """All states of all outcomes, steps and choices alike, and where nothing more can happen."""

    states: int
    transitions: int
    ends: frozenset[tuple[Words, Left]]


def naive_outcomes(some: Sequence[Settled]) -> Together:
    """Visit every state: what has happened, and the outcomes that are left.

    A choice that is open may be made wherever something can happen in some of them only.
    """
    words = [_words(each.model) for each in some]
    guards = [_Guards(each.model, each.model.progress) for each in some]
    numbers = [{word: number for number, word in enumerate(own)} for own in words]

    def following(state: tuple[Words, Left]) -> Iterator[tuple[Words, Left]]:
        happened, left = state
        able = {
            k: {
                words[k][e]
                for e in guards[k].enabled(frozenset(numbers[k][word] for word in happened))
            }
            for k in left
        }
        both = set.intersection(*able.values())
        yield from ((happened | {word}, left) for word in both)
        if set.union(*able.values()) > both:
            for name in {name for k in left for name, _ in some[k].picked}:
                what = {k: dict(some[k].picked).get(name) for k in left}
                if len(set(what.values())) > 1:
                    for each in set(what.values()):
                        yield happened, frozenset(k for k in left if what[k] == each)

    first = Words(), frozenset(range(len(some)))
    seen, todo, ends, transitions = {first}, [first], set[tuple[Words, Left]](), 0
    while todo:
        state = todo.pop()
        steps = list(following(state))
        transitions += len(steps)
        ends |= set() if steps else {state}
        todo += set(steps) - seen
        seen |= set(steps)
    return Together(len(seen), transitions, frozenset(ends))
