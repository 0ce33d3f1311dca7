"""Layers to stages: contiguous, none empty, the largest load as small as it can be.

Exact: costs are whole numbers or fractions, and no sum is rounded. The bottleneck is found by
bisection over loads, each probed by a greedy fill over prefix sums; see Pinar and Aykanat, *Fast
optimal load balancing algorithms for 1D partitioning*, J. Parallel Distrib. Comput. 64 (2004).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm

__all__ = ["Partition", "balanced", "even"]


@dataclass(frozen=True, slots=True)
class Partition:
    """Stages as ranges of layers.

    `ends[s]` is the first layer behind stage `s`; the first stage begins at layer 0. `loads[s]` is
    the sum of the costs of its layers, in the unit of the costs.
    """

    ends: tuple[int, ...]
    loads: tuple[Fraction, ...]

    @property
    def largest(self) -> Fraction:
        """The load of the stage that all others wait for."""
        return max(self.loads)

    @property
    def ranges(self) -> tuple[range, ...]:
        """The layers of each stage."""
        return tuple(range(first, end) for first, end in pairwise((0, *self.ends)))


def balanced(costs: Sequence[Fraction | int], stages: int) -> Partition:
    """Return a partition whose largest load is the smallest that any can have.

    Of several it is one in which each stage, from the first on, comes as near as it can to its
    share of what is left.

    Args:
        costs: what each layer takes, not negative, in one unit.
        stages: how many stages; from 1 to the number of layers.

    Raises:
        ValueError: there are no layers, no stages, more stages than layers, or a negative cost.
    """
    scale = _scale(costs, stages)
    sums = [0, *accumulate(int(cost * scale) for cost in costs)]
    most = _smallest(sums, stages)
    layers, ends, first = len(costs), [], 0
    for stage, (early, late) in enumerate(_windows(sums, stages, most)):
        low, high = max(early, first + 1), min(late, _end(sums, first, most, layers))
        share = Fraction(sums[-1] - sums[first], stages - stage) + sums[first]
        near = bisect_left(sums, share, low, high)
        if near > low and share - sums[near - 1] <= sums[near] - share:
            near -= 1
        first = near
        ends.append(first)
    return _partition(sums, tuple(ends), scale)


def even(costs: Sequence[Fraction | int], stages: int) -> Partition:
    """Return the partition by count: as many layers a stage, the first ones hold the remainder.

    Raises:
        ValueError: as `balanced`.
    """
    scale = _scale(costs, stages)
    sums = [0, *accumulate(int(cost * scale) for cost in costs)]
    size, more = divmod(len(costs), stages)
    ends = accumulate(size + (s < more) for s in range(stages))
    return _partition(sums, tuple(ends), scale)


def _scale(costs: Sequence[Fraction | int], stages: int) -> int:
    """Return what makes every cost a whole number, and check what a partition needs."""
    if stages < 1:
        message = f"{stages} stages; expected at least 1"
        raise ValueError(message)
    if not costs:
        message = "no layers; expected at least one a stage"
        raise ValueError(message)
    if stages > len(costs):
        message = f"{stages} stages for {len(costs)} layers; expected at most one stage a layer"
        raise ValueError(message)
    if min(costs) < 0:
        message = f"a layer costs {min(costs)}; expected no negative cost"
        raise ValueError(message)
    return lcm(*{cost.denominator for cost in costs})


def _smallest(sums: list[int], stages: int) -> int:
    """Return the smallest load into which every stage fits."""
    low = max(-(-sums[-1] // stages), *(b - a for a, b in pairwise(sums)))
    high = sums[-1]
    while low < high:
        middle = (low + high) // 2
        if _filled(sums, stages, middle)[-1] < len(sums) - 1:
            low = middle + 1
        else:
            high = middle
    return low


def _filled(sums: list[int], stages: int, most: int) -> list[int]:
    """Fill stage by stage up to `most`, leaving a layer for each that follows."""
    ends, first = [], 0
    for left in reversed(range(stages)):
        first = _end(sums, first, most, len(sums) - 1 - left)
        ends.append(first)
    return ends


def _end(sums: list[int], first: int, most: int, last: int) -> int:
    """Return the furthest end, up to `last`, of a stage from `first` on that holds `most`."""
    return min(bisect_right(sums, sums[first] + most, first) - 1, last)


def _windows(sums: list[int], stages: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield between which ends each stage must end so that all fit, the first and the last too."""
    layers = len(sums) - 1
    turned = [sums[-1] - each for each in reversed(sums)]
    begins = [layers - end for end in reversed(_filled(turned, stages, most))]
    return zip([*begins[1:], layers], _filled(sums, stages, most), strict=True)


def _partition(sums: list[int], ends: tuple[int, ...], scale: int) -> Partition:
    loads = (Fraction(sums[end] - sums[first], scale) for first, end in pairwise((0, *ends)))
    return Partition(ends, tuple(loads))
