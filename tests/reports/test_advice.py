"""Each report says why a broken rule breaks training and what to change."""

import pytest

from pipeproof.reports import html, text
from pipeproof.reports._advice import advice, why
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.result import Result
from tests.reports.made import refuted
from tests.reports.paged import data_of


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_says_why_and_what_to_change(rule: Rule) -> None:
    assert why(rule.code).endswith(".")
    assert advice(rule.code).endswith(".")
    assert len(advice(rule.code)) < 180


def test_of_a_rule_that_is_not_known_nothing_is_said() -> None:
    assert (why("PP999"), advice("PP999")) == ("", "")


def test_the_text_says_both_before_it_tells_how_it_comes_to_it() -> None:
    said = " ".join(text.render(Result("0.1.0", (refuted(),))).split())
    parts = [
        f"why it breaks training: {why('PP301')}",
        f"what to change: {advice('PP301')}",
        "how it comes to it:",
    ]

    assert all(part in said for part in parts)
    assert sorted(parts, key=said.index) == parts


def test_the_page_says_both() -> None:
    page = data_of(html.render(Result("0.1.0", (refuted(),))))
    violation = page["files"][0]["views"][0]["violations"][0]

    assert (violation["why"].text, violation["change"].text) == (why("PP301"), advice("PP301"))
