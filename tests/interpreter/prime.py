"""The prime oracle: a gradient of linear stages whose factors tell which weights it used."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.interpreter.weights import Reading, StageWeights


@dataclass(frozen=True, slots=True)
class Used:
    """The versions that one stage uses for one microbatch, as distinct primes."""

    forward: int
    backward: int
    recomputed: int


def primes() -> Iterable[int]:
    """The primes, smallest first."""
    number, found = 2, list[int]()
    while True:
        if all(number % p for p in found if p * p <= number):
            found.append(number)
            yield number
        number += 1


def is_square(number: int) -> bool:
    """Whether a number is the square of another."""
    return isqrt(number) ** 2 == number


def gradient(used: Sequence[Used], stage: int, inputs: int) -> int:
    """The gradient of a scalar linear stage, for the loss y * y / 2.

    Source: facts/theory.md, section 6, oracle (B).
    """
    result = inputs * prod(each.forward for each in used)
    above = prod(each.backward for each in used[stage + 1 :])
    below = prod(each.recomputed for each in used[:stage])
    return result * inputs * above * below


def consistent(stages: Sequence[StageWeights], microbatch: int) -> bool:
    """Whether every gradient of a microbatch is one of a model that existed.

    Two stages of one version each stand before the first and after the last, so that each
    stage is below one and above the other.
    """
    supply = iter(primes())
    inputs, first, last = next(supply), next(supply), next(supply)
    used = [Used(first, first, first)]
    for weights in stages:
        readings = [r for r in weights.readings if r.step.microbatch == microbatch]
        names = dict(zip(_numbers(readings), supply, strict=False))
        forward = names[_number(readings, "F")]
        again = [names[_number([r], "R")] for r in readings if r.step.kind == "R"]
        backward = names[_number(readings, "B", "I")]
        used.append(Used(forward, backward, again[-1] if again else forward))
    used.append(Used(last, last, last))
    return all(
        is_square(gradient(used, stage, inputs) * used[stage].forward) for stage in range(len(used))
    )


def _numbers(readings: Sequence[Reading]) -> list[int]:
    return sorted({version.number for reading in readings for _, version in reading.versions})


def _number(readings: Sequence[Reading], *kinds: str) -> int:
    """The version that the first operation of some kinds reads."""
    (version,) = next(r for r in readings if r.step.kind in kinds).versions
    return version[1].number
