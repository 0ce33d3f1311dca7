"""The shapes in which relations say what they hold of."""

from pipeproof.semantics.found import NO_EVENT, Finding, Findings, Spot, no_edges


def test_the_empty_relation_orders_nothing() -> None:
    edges = no_edges()

    assert edges.pairs.shape == (0, 2)
    assert (edges.gates, len(edges.never), edges.credits) == (0, 0, ())


def test_places_are_sorted_by_their_event() -> None:
    assert sorted([Spot(4, 0), Spot(2, 9), Spot(2, 3)]) == [Spot(2, 3), Spot(2, 9), Spot(4, 0)]


def test_a_finding_without_an_event_has_none_that_must_not_happen() -> None:
    assert Finding((), {}).event == NO_EVENT
    assert list(Findings(3).found) == []
