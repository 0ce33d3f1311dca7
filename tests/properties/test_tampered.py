"""Certificates that were changed are rejected, save those that still hold."""

import random
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.oracle.machine import TooManyStatesError
from tests.properties.certifying import rechecked, rejected
from tests.properties.confirming import confirmed
from tests.properties.tampering import KINDS, Drawn, Tampered, drawn, tampered

EACH = 6  # changed certificates of one schedule and kind
EXACT = ("event dropped", "event moved", "event repeated")
"""Changes of an execution alone: brute force says of each of them whether it still is one."""


def changed(kind: str, first: int) -> Iterator[tuple[Drawn, Tampered, str]]:
    """Certificates changed in one way, of schedules of which all states can be visited."""
    for seed in range(first, first + 100_000):
        one = drawn(seed)
        if one is None:
            continue
        rng = random.Random(f"{kind} {seed}")
        for _ in range(EACH):
            made = tampered(kind, rng, one)
            if made is not None:
                yield one, made, f"seed {seed}"


def judged(kind: str, number: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """How many changed certificates are rejected and accepted, and what is wrong with that."""
    count, wrong = Counter[str](), list[str]()
    for one, made, name in changed(kind, first):
        if count["tried"] == number:
            break
        reasons = rejected(one.made, made.text), rechecked(made.text, one.made.as_run)
        try:
            given = one.given(str(made.after["transport"]))
            asked = kind in EXACT or not all(reasons)
            why = confirmed(given, made.after, made.before) if asked else ""
        except TooManyStatesError:
            continue
        count["tried"] += 1
        count["rejected"] += all(reasons)
        count["accepted"] += not any(reasons)
        count["split"] += any(reasons) and not all(reasons)
        if why and not all(reasons):
            wrong.append(f"{kind}, {name}: accepted, but {why} (rejected: {reasons})")
        if kind in EXACT and not why and any(reasons):
            wrong.append(f"{kind}, {name}: it holds, but is rejected: {reasons}")
        if any(reasons) != all(reasons):
            sys.stdout.write(f"{kind}, {name}: {reasons}\n")
    return count, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_certificate_is_accepted_only_where_brute_force_confirms_it(kind: str) -> None:
    count, wrong = judged(kind, 28)

    assert not wrong
    assert count["rejected"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_changed_certificates_are_accepted_only_where_they_hold(kind: str) -> None:
    count, wrong = judged(kind, 560, 1_000)
    sys.stdout.write(f"{kind}: {dict(count)}\n")

    assert not wrong
    assert count["rejected"] > 100
