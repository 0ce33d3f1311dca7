"""The shapes in which relations say what they hold of."""

from pipeproof.semantics.found import NO_EVENT, Finding, Findings, Spot, no_edges, once_a_place


def test_the_empty_relation_orders_nothing() -> None:
    edges = no_edges()

    assert edges.pairs.shape == (0, 2)
    assert (edges.gates, len(edges.never), edges.credits) == (0, 0, ())


def test_places_are_sorted_by_their_event() -> None:
    assert sorted([Spot(4, 0), Spot(2, 9), Spot(2, 3)]) == [Spot(2, 3), Spot(2, 9), Spot(4, 0)]


def test_a_finding_without_an_event_has_none_that_must_not_happen() -> None:
    assert Finding((), {}).event == NO_EVENT
    assert list(Findings(3).found) == []


def test_of_several_findings_at_one_place_the_first_is_told() -> None:
    first, again, other = (
        Finding((Spot(0, 0),), {"why": "a"}),
        Finding((Spot(0, 0),), {"why": "b"}),
        Finding((Spot(0, 0), Spot(2, 1)), {"why": "c"}),
    )

    assert once_a_place([first, again, other]) == [first, other]
