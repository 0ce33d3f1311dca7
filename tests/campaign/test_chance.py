"""The exact chance of having met a fault, and the backlog of a queue."""

from decimal import Decimal
from fractions import Fraction

import pytest

from pipeproof.campaign.chance import DIGITS, backlog, coverage, held, written


def test_coverage_is_exact() -> None:
    assert coverage(Decimal("0.2"), 5) == Decimal("0.67232")
    assert coverage(Decimal("0.2"), 10) == Decimal("0.8926258176")


@pytest.mark.parametrize("rate", ["0.1", "0.05", "0.333", "0.999", "0.000001"])
@pytest.mark.parametrize("trials", [1, 2, 7, 40, 1000])
def test_coverage_is_that_of_fractions(rate: str, trials: int) -> None:
    assert Fraction(coverage(Decimal(rate), trials)) == 1 - (1 - Fraction(rate)) ** trials


def test_no_trial_meets_no_fault_and_a_sure_fault_is_met() -> None:
    assert [written(coverage(Decimal(p), n)) for p, n in (("0", 9), ("1", 1), ("1", 0))] == [
        "0",
        "1",
        "0",
    ]
    assert written(coverage(Decimal("0.3"), 0)) == "0"


def test_a_chance_is_never_told_as_certainty_though_it_is_as_near_as_can_be() -> None:
    told = written(coverage(Decimal("0.5"), 10**12))

    assert told == f"0.{'9' * DIGITS}..."


@pytest.mark.parametrize("trials", [20_000, 20_001, 60_000, 60_001, 60_030])
def test_what_is_rounded_begins_as_what_is_exact(trials: int) -> None:
    rate = Decimal("0.001")
    exact = 1 - (1 - Fraction(rate)) ** trials
    digits = exact.numerator * 10**DIGITS // exact.denominator

    assert written(coverage(rate, trials)) == f"0.{digits:0{DIGITS}d}..."


@pytest.mark.parametrize(("rate", "trials"), [("-0.1", 3), ("1.1", 3), ("0.5", -1)])
def test_what_is_no_chance_is_refused(rate: str, trials: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        coverage(Decimal(rate), trials)


@pytest.mark.parametrize(
    ("predicted", "became"),
    [
        ("0.67232", "held"),
        ("0.672320", "held"),
        ("0.67", "held to 2 digits"),
        ("0.7", "held to 1 digit"),
        ("0.68", "did not hold"),
        ("1", "did not hold"),
        ("0.672321", "did not hold"),
    ],
)
def test_a_prediction_is_held_against_as_many_digits_as_it_has(predicted: str, became: str) -> None:
    assert held(Decimal(predicted), Decimal("0.67232")) == became


@pytest.mark.parametrize(
    ("numbers", "left"),
    [
        (("3", "3", "4", 2), "4"),
        (("0", "4", "4", 2), "0"),
        (("0", "4", "9", 2), "1"),
        (("0.1", "0", "0", 3), "0.3"),
        (("5", "2", "1", 0), "1"),
    ],
)
def test_a_backlog_is_what_a_queue_does_step_by_step(
    numbers: tuple[str, str, str, int], left: str
) -> None:
    arrival, service, waiting = map(Fraction, numbers[:3])
    for _ in range(numbers[3]):
        waiting = max(Fraction(), waiting + arrival - service)

    a, s, initial = map(Decimal, numbers[:3])
    assert written(backlog(a, s, initial, numbers[3])) == left
    assert Fraction(left) == waiting


@pytest.mark.parametrize("place", range(4))
def test_nothing_of_a_queue_is_negative(place: int) -> None:
    a, s, initial, steps = (-1 if each == place else 1 for each in range(4))
    with pytest.raises(ValueError, match="expected 0 or more"):
        backlog(Decimal(a), Decimal(s), Decimal(initial), steps)
