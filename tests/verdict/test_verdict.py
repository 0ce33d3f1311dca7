"""Verdicts, and which violation comes first."""

import pytest

from pipeproof.verdict.verdict import (
    FileVerdict,
    Outcome,
    TransportVerdict,
    Violation,
    worst,
)

PROVED, REFUTED, UNKNOWN = Outcome.PROVED, Outcome.REFUTED, Outcome.UNKNOWN


def transport(name: str, outcome: Outcome, *violations: Violation) -> TransportVerdict:
    return TransportVerdict(name, outcome, "graph", 4, "any", ("A2",), violations=violations)


def verdict(*transports: TransportVerdict) -> FileVerdict:
    outcome = worst(tuple(each.outcome for each in transports))
    return FileVerdict(
        "a.yaml",
        outcome,
        stages=2,
        ranks=2,
        microbatches=1,
        operations=4,
        lowering="as-written",
        profile="none",
        fragment=False,
        transports=transports,
    )


def violation(rule: str, *, first: bool = False) -> Violation:
    return Violation(rule, "bad", "it is bad", (), 1, first=first)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((), PROVED),
        ((PROVED, PROVED), PROVED),
        ((PROVED, UNKNOWN), UNKNOWN),
        ((UNKNOWN, REFUTED, PROVED), REFUTED),
    ],
)
def test_one_refuted_refutes_and_one_unknown_leaves_open(
    outcomes: tuple[Outcome, ...], expected: Outcome
) -> None:
    assert worst(outcomes) is expected


def test_the_first_violation_is_that_of_the_first_transport_that_refutes() -> None:
    found = verdict(
        transport("a", PROVED),
        transport("b", REFUTED, violation("PP101"), violation("PP301", first=True)),
        transport("c", REFUTED, violation("PP401", first=True)),
    )

    assert found.first_rule == "PP301"
    assert found.first is found.transports[1].violations[1]
    assert found.verdict == "refuted"


def test_a_proved_file_has_no_first_violation() -> None:
    found = verdict(transport("a", PROVED))

    assert found.first is None
    assert found.first_rule is None
    assert found.verdict == "proved"
