"""A verdict is held against what a file says that it must show."""

import pytest

from pipeproof.ir.source import Expectation
from pipeproof.verdict.expected import Agreement, compare, shown, wanted
from pipeproof.verdict.verdict import Outcome, Place, Violation
from tests.verdict.test_verdict import transport, verdict

DEADLOCK = Violation(
    *("PP301", "deadlock", "they wait"),
    tuple(Place(rank, 1, "SEND v to=0", rank) for rank in (0, 1)),
    cost=2,
    first=True,
)
STUCK = verdict(
    transport("rendezvous", Outcome.REFUTED, DEADLOCK), transport("buffered", Outcome.PROVED)
)


@pytest.mark.parametrize(
    ("expected", "agreement"),
    [
        (Expectation(None, "refuted", "PP301", at=("r0.1", "r1.1"), exact=True), Agreement.AGREE),
        (Expectation("rendezvous", "refuted", "PP301"), Agreement.AGREE),
        (Expectation("buffered", "proved"), Agreement.AGREE),
        (Expectation("buffered", "refuted"), Agreement.DIFFER),
        (Expectation(None, "refuted", "PP205"), Agreement.DIFFER),
        (Expectation(None, "refuted", "PP301", at=("r0.2",)), Agreement.DIFFER),
        (Expectation(None, "refuted", "PP301", at=("r0.1",), exact=True), Agreement.DIFFER),
    ],
)
def test_rule_and_places_must_be_those_of_the_transport(
    expected: Expectation, agreement: Agreement
) -> None:
    assert compare(expected, shown(STUCK, expected.transport))[0] is agreement


def test_what_is_wanted_is_said_in_words() -> None:
    expected = Expectation(None, "refuted", "PP301", ("PP205",), at=("r0.1",), exact=True)

    assert wanted(expected) == "refuted PP301 or PP205 at r0.1 and nowhere else"
