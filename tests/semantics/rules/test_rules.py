"""The rules, as formulas and as the pages show them broken."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from pipeproof.api import judge_text
from pipeproof.errors import InternalError
from pipeproof.semantics import rules as room
from pipeproof.semantics.earliest import TIMED
from pipeproof.semantics.logic import (
    Acyclic,
    All,
    AtMost,
    Axiom,
    Empty,
    Enforced,
    Finally,
    Never,
    NotAfter,
    Rule,
)
from pipeproof.semantics.policies import under_faults
from pipeproof.semantics.relations import ENDINGS, FINDINGS, HOLDS, NEEDS
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.verdict import FileVerdict

PAGES = Path(__file__).parents[3] / "docs" / "rules"
REFUTED = re.compile(r"^```yaml refuted\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FACT = re.compile(r"\{(\w+)\}")
RULES = all_rules()


def named(rule: Rule) -> str:
    return f"{rule.code}-{rule.name}"


def broken(rule: Rule) -> FileVerdict:
    """The verdict over the schedule that the rule's page shows broken."""
    page = (PAGES / f"{named(rule)}.md").read_text(encoding="utf-8")
    (text,) = REFUTED.findall(page)
    return judge_text(text, f"{named(rule)}.yaml")


def messages(rule: Rule) -> list[str]:
    """What the broken schedule's verdict says of the rule."""
    told: set[str] = set()
    for each in broken(rule).transports:
        told |= {said.message for said in each.violations if said.rule == rule.code}
        told |= {said.message for said in each.warnings if said.rule == rule.code}
    return sorted(told)


def relations(axiom: Axiom) -> list[str]:
    """The relations that an axiom is about, those of an order left out."""
    match axiom:
        case Acyclic():
            return []
        case All(axioms):
            return [name for each in axioms for name in relations(each)]
        case (
            Empty(rel) | Never(rel) | Enforced(rel, _) | AtMost(rel) | Finally(rel) | NotAfter(rel)
        ):
            return [rel.name]


def test_codes_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]

    assert codes == sorted(set(codes))
    assert all(re.fullmatch(r"PP[1-9]\d\d", code) for code in codes)


def test_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rule_stands_in_the_file_of_its_name(rule: Rule) -> None:
    module = import_module(f"{room.__name__}.{rule.name.replace('-', '_')}")

    assert module.RULE is rule
    assert module.__all__ == ["RULE"]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rule_says_what_is_bad_why_and_whence(rule: Rule) -> None:
    summary, *rest = rule.doc.split("\n\n")

    assert summary.endswith(".")
    assert any(part.startswith("Why it breaks training:") for part in rest)
    assert any(part.startswith("Source: ") for part in rest)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_an_axiom_is_about_a_known_relation(rule: Rule) -> None:
    _knows(rule.axiom)


def _knows(axiom: Axiom) -> None:
    match axiom:
        case Acyclic(order, through):
            assert (order.purpose, through) in {
                *(("progress", "messages"), ("progress", "collectives")),
            }
        case Empty(rel) | Never(rel) | NotAfter(rel):
            assert rel.name in {*FINDINGS, *TIMED}
        case Finally(rel):
            assert rel.name in ENDINGS
        case Enforced(rel, by):
            assert rel.name in NEEDS
            assert by.purpose == "happens-before"
        case AtMost(measure):
            assert measure.name in HOLDS
        case All(axioms):
            for each in axioms:
                _knows(each)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_the_message_is_filled_with_the_facts_of_a_broken_schedule(rule: Rule) -> None:
    words = [word for word in FACT.sub("\0", rule.message).split("\0") if word]
    told = messages(rule)

    assert told
    for message in told:
        assert "{" not in message
        assert all(word in message for word in words)


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.warns], ids=named)
def test_a_broken_schedule_shows_its_rule_first(rule: Rule) -> None:
    assert broken(rule).first_rule == rule.code


def test_only_a_dependence_on_buffering_warns() -> None:
    assert [rule.code for rule in RULES if rule.warns] == ["PP302"]


def test_every_relation_of_findings_is_used_by_one_rule() -> None:
    rules = (*RULES, *under_faults(RULES))
    used = [name for rule in rules for name in relations(rule.axiom)]

    assert sorted([*used, "unentered"]) == sorted(
        [*FINDINGS, *TIMED, *NEEDS, *HOLDS, *ENDINGS]
    )  # PP205 asks for unentered


def test_a_module_without_a_rule_is_ours_to_mend() -> None:
    with pytest.raises(InternalError, match="re states no rule"):
        room._rule(re)
