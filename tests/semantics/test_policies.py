"""Three rules speak of faults; each is read anew where one strikes."""

from pipeproof.semantics.logic import Finally, NotAfter
from pipeproof.semantics.policies import JUDGED, under_faults
from pipeproof.semantics.relations import ENDINGS, FINDINGS
from pipeproof.semantics.rules import all_rules


def test_three_rules_are_judged_and_keep_their_names() -> None:
    found = under_faults(all_rules())
    names = {rule.code: rule.name for rule in all_rules()}

    assert [rule.code for rule in found] == ["PP106", "PP301", "PP706"]
    assert all(rule.name == names[rule.code] for rule in found)


def test_a_rule_that_is_not_asked_for_is_not_judged() -> None:
    asked = [rule for rule in all_rules() if rule.code == "PP301"]

    assert [rule.code for rule in under_faults(asked)] == ["PP301"]


def test_every_relation_that_is_named_is_known() -> None:
    for axiom in JUDGED.values():
        match axiom:
            case Finally(rel):
                assert rel.name in ENDINGS
            case NotAfter(rel):
                assert rel.name in FINDINGS
            case _:
                raise AssertionError(axiom)
