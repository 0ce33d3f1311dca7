"""The verdict over all outcomes, from the verdict over each."""

from dataclasses import replace

from pipeproof.verdict.merge import merged
from pipeproof.verdict.verdict import Live, Outcome, Place, TransportVerdict, Undecided, Violation

PLACE = Place(0, 1, "0B0", 1)


def violation(rule: str, cost: int, *, first: bool = True) -> Violation:
    return Violation(rule, "name", "it is so", (PLACE,), cost, first=first)


def verdict(outcome: Outcome, *violations: Violation) -> TransportVerdict:
    return TransportVerdict("gloo", outcome, "graph", 4, "any", ("A2",), violations=violations)


def test_one_refuted_outcome_refutes() -> None:
    both = (verdict(Outcome.PROVED), verdict(Outcome.REFUTED, violation("PP301", 3)))

    assert merged(both, ("q is a", "q is b")).outcome is Outcome.REFUTED


def test_a_violation_says_in_which_outcome_it_shows() -> None:
    both = (verdict(Outcome.PROVED), verdict(Outcome.REFUTED, violation("PP301", 3)))
    (told,) = merged(both, ("q is a", "q is b")).violations

    assert told.message == "it is so (where q is b)"
    assert told.first


def test_what_several_outcomes_show_is_told_once() -> None:
    both = tuple(verdict(Outcome.REFUTED, violation("PP301", 3)) for _ in range(2))

    assert len(merged(both, ("q is a", "q is b")).violations) == 1


def test_the_first_violation_needs_the_fewest_events_of_all_outcomes() -> None:
    both = (
        verdict(Outcome.REFUTED, violation("PP301", 9)),
        verdict(Outcome.REFUTED, violation("PP403", 2), violation("PP701", 8, first=False)),
    )
    told = merged(both, ("", "")).violations

    assert [(each.rule, each.first) for each in told] == [
        *(("PP403", True), ("PP301", False), ("PP701", False)),
    ]


def test_unknown_in_one_outcome_is_unknown() -> None:
    open_ = (Undecided("PP506", "why"),)
    both = (verdict(Outcome.PROVED), replace(verdict(Outcome.UNKNOWN), unknown=open_))
    found = merged(both, ("", ""))

    assert (found.outcome, found.unknown) == (Outcome.UNKNOWN, open_)


def test_counts_add_up_and_what_is_live_is_the_most() -> None:
    proved = verdict(Outcome.PROVED)
    few, many = Live(0, "kept", 2, None, exact=True), Live(0, "kept", 5, None, exact=False)
    both = (
        replace(proved, instances={"PP301": 2}, live=(few,)),
        replace(proved, instances={"PP301": 3}, live=(many,)),
    )
    found = merged(both, ("", ""))

    assert dict(found.instances) == {"PP301": 5}
    assert found.live == (many,)
    assert found.outcomes == 2


def test_the_largest_outcome_is_told_and_what_all_of_them_took() -> None:
    one = replace(verdict(Outcome.PROVED), counts={"waits": 9, "transfers": 1, "states": 3})
    other = replace(verdict(Outcome.PROVED), counts={"waits": 7, "transfers": 2, "states": 4})

    assert merged((one, other), ("a", "b")).counts == {"states": 7, "transfers": 2, "waits": 9}
