"""What an engine hands over is data, and names what it is about."""

import numpy as np

from pipeproof.semantics.found import Finding, Spot
from pipeproof.verdict.decision import Broken, Decision, added
from tests.semantics.made import rules

FOUND = Finding((Spot(0, 0),), {"op": "0F0"})


def test_what_is_broken_has_its_rule_its_places_and_an_execution() -> None:
    (rule,) = rules("PP102")
    broken = Broken(rule, FOUND, cost=3, trace=np.asarray([0]), reached=True)

    assert (broken.rule.code, broken.finding, broken.cost) == ("PP102", FOUND, 3)
    assert broken.trace.tolist() == [0]


def test_a_decision_lists_what_is_broken_first_first() -> None:
    first, second = (
        Broken(rule, FOUND, 0, np.asarray([0]), reached=True) for rule in rules("PP102", "PP103")
    )
    decision = Decision("graph", {"PP102": 1, "PP103": 1}, (first, second), complete=False)

    assert decision.broken[0] is first
    assert decision.instances == {"PP102": 1, "PP103": 1}


def test_counts_are_added_by_name_and_stand_in_order_of_names() -> None:
    total = added([{"steps": 2}, {}, {"states": 3, "steps": 4}])

    assert list(total.items()) == [("states", 3), ("steps", 6)]
    assert added([]) == {}
