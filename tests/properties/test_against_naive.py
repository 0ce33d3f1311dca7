"""The two algorithms of the graph engine against naive ones, on random systems of guards."""

import random

import numpy as np
import pytest

from pipeproof.engines.graph import Ancestors, run
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Credit
from pipeproof.semantics.model import Graph
from tests.semantics.made import model


def column(*numbers: int) -> IntArray:
    return np.asarray(numbers, np.int64)


def guards(
    size: int, pairs: list[tuple[int, int]], *thresholds: Credit, never: tuple[int, ...] = ()
) -> Graph:
    marked = np.zeros(size, np.bool_)
    marked[list(never)] = True
    return Graph(
        size,
        column(*(before for before, _ in pairs)),
        column(*(after for _, after in pairs)),
        marked,
        thresholds,
        np.zeros(size, np.bool_),
    )


def random_pairs(rng: random.Random, size: int) -> list[tuple[int, int]]:
    number = rng.randint(0, 2 * size)
    return [(rng.randrange(size), rng.randrange(size)) for _ in range(number)]


def closure(size: int, pairs: list[tuple[int, int]]) -> list[set[int]]:
    """Everything before each event, by adding until nothing changes."""
    before: list[set[int]] = [set() for _ in range(size)]
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            more = {a, *before[a]} - before[b]
            before[b] |= more
            changed = changed or bool(more)
    return before


def test_ancestors_are_the_transitive_closure() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        size = rng.randint(1, 12)
        pairs = random_pairs(rng, size)
        made, wanted = Ancestors(guards(size, pairs)), closure(size, pairs)

        for each in range(size):
            assert set(made.of(column(each)).tolist()) == wanted[each]
        both = rng.choices(range(size), k=2)
        assert set(made.of(column(*both)).tolist()) == wanted[both[0]] | wanted[both[1]]


def enabled(made: Graph, level: list[int], each: int) -> bool:
    """Whether an event has not happened, and all that it waits for has."""
    pairs = zip(made.before.tolist(), made.after.tolist(), strict=True)
    if level[each] >= 0 or made.never[each]:
        return False
    if any(after == each and level[before] < 0 for before, after in pairs):
        return False
    for credit in made.credits:
        drained, arrived = credit.drained.tolist(), credit.arrived.tolist()
        if each in drained:
            open_ = [a for a in arrived[: drained.index(each)] if level[a] < 0]
            if len(open_) >= credit.capacity:
                return False
    return True


def greedy(made: Graph) -> list[int]:
    """The round in which each event happens, -1 if never: all that can happens, round by round."""
    level, turn = [-1] * made.size, 0
    while now := [each for each in range(made.size) if enabled(made, level, each)]:
        for each in now:
            level[each] = turn
        turn += 1
    return level


def random_credit(rng: random.Random, size: int) -> Credit:
    number = rng.randint(1, size // 2)
    ends = rng.sample(range(size), 2 * number)
    return Credit(column(*ends[:number]), column(*ends[number:]), rng.randint(1, 3))


@pytest.mark.parametrize("seed", range(4))
def test_a_run_is_the_greedy_run(seed: int) -> None:
    """50 systems a seed, 200 in all, each with guards, events that never happen and credits."""
    alone = model("0F0")
    for number in range(50):
        rng = random.Random(seed * 1000 + number)
        size = rng.randint(2, 16)
        pairs = [(a, b) for a, b in random_pairs(rng, size) if a < b or rng.random() < 0.1]
        thresholds = [random_credit(rng, size) for _ in range(rng.randint(0, 2))]
        never = tuple(each for each in range(size) if rng.random() < 0.1)
        made = guards(size, pairs, *thresholds, never=never)

        assert run(alone, made).level.tolist() == greedy(made)
