"""Rules are formulas: values that compare."""

from pipeproof.semantics.logic import (
    HAPPENS_BEFORE,
    PROGRESS,
    Acyclic,
    Enforced,
    Rel,
    Rule,
)


def test_pairs_are_enforced_by_what_happens_before_unless_said_otherwise() -> None:
    assert Enforced(Rel("sends")) == Enforced(Rel("sends"), HAPPENS_BEFORE)
    assert Enforced(Rel("sends"), PROGRESS) != Enforced(Rel("sends"))


def test_a_rule_is_its_content() -> None:
    axiom = Acyclic(PROGRESS, through="messages")
    rule = Rule("PP301", "deadlock", axiom, "{why}", "doc")

    assert rule == Rule("PP301", "deadlock", axiom, "{why}", "doc", warns=False)
    assert rule != Rule("PP301", "deadlock", Acyclic(PROGRESS, "collectives"), "{why}", "doc")
