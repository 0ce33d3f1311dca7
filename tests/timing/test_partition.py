"""Layers to stages: the smallest largest load, against all partitions there are."""

import random
from fractions import Fraction
from itertools import combinations, pairwise

import pytest

from pipeproof.timing.partition import Partition, balanced, even

UNIT = Fraction(1)


def smallest(costs: list[Fraction], stages: int) -> Fraction:
    """Return the smallest largest load, by trying every way to cut."""
    return min(
        max(sum(costs[a:b], Fraction()) for a, b in pairwise((0, *cuts, len(costs))))
        for cuts in combinations(range(1, len(costs)), stages - 1)
    )


def check(found: Partition, costs: list[Fraction], stages: int) -> None:
    assert len(found.ends) == len(found.loads) == stages
    assert found.ends[-1] == len(costs)
    assert all(len(each) > 0 for each in found.ranges)
    assert [layer for each in found.ranges for layer in each] == [*range(len(costs))]
    loads = tuple(sum((costs[k] for k in each), Fraction()) for each in found.ranges)
    assert found.loads == loads


@pytest.mark.parametrize("seed", range(400))
def test_no_partition_has_a_smaller_largest_load(seed: int) -> None:
    rng = random.Random(seed)
    layers = rng.randint(1, 11)
    stages = rng.randint(1, layers)
    most = rng.choice((1, 3, 10, 1000))
    costs = [Fraction(rng.randint(0, most), rng.choice((1, 1, 2, 10))) for _ in range(layers)]
    found, by_count = balanced(costs, stages), even(costs, stages)
    check(found, costs, stages)
    check(by_count, costs, stages)

    assert found.largest == smallest(costs, stages)
    assert found.largest <= by_count.largest


def test_equal_layers_are_spread_evenly() -> None:
    found = balanced([UNIT] * 10, 4)

    assert sorted(len(each) for each in found.ranges) == [2, 2, 3, 3]


def test_the_even_split_gives_the_remainder_to_the_first() -> None:
    assert [len(each) for each in even([UNIT] * 10, 4).ranges] == [3, 3, 2, 2]


def test_fractions_are_not_rounded() -> None:
    tenth = Fraction(1, 10)
    found = balanced([tenth, 2 * tenth, 3 * tenth], 2)

    assert found.loads == (3 * tenth, 3 * tenth)


def test_large_partitions_are_as_good_as_dynamic_programming_finds() -> None:
    rng = random.Random(5)
    costs = [rng.randint(0, 50) for _ in range(300)]
    sums = [0]
    for cost in costs:
        sums.append(sums[-1] + cost)
    best = list(sums)
    for stages in range(2, 13):
        best = [
            min((max(best[k], sums[n] - sums[k]) for k in range(stages - 1, n)), default=sums[-1])
            if n >= stages
            else sums[-1] + 1
            for n in range(len(sums))
        ]

        assert balanced(costs, stages).largest == best[-1]


@pytest.mark.parametrize(
    ("costs", "stages", "said"),
    [
        ([1], 0, "0 stages; expected at least 1"),
        ([], 1, "no layers; expected at least one a stage"),
        ([1, 2], 3, "3 stages for 2 layers; expected at most one stage a layer"),
        ([1, -2], 1, "a layer costs -2; expected no negative cost"),
    ],
)
def test_what_cannot_be_parted_is_refused(costs: list[int], stages: int, said: str) -> None:
    for part in (balanced, even):
        with pytest.raises(ValueError, match=said):
            part(costs, stages)
