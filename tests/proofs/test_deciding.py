"""What an engine found, as the verdict that is told."""

import pytest

from pipeproof import api

STUCK = """\
pipeproof: 1
fragment: true
stages: 2
microbatches: 1
transport: rendezvous
ranks:
  - "SEND u to=1; RECV v from=1"
  - "SEND v to=0; RECV u from=0"
"""


def test_what_is_stuck_only_without_buffering_is_told_so() -> None:
    (only,) = api.judge_text(STUCK, "stuck").transports

    assert [each.rule for each in only.violations] == ["PP301"]
    assert [each.rule for each in only.warnings] == ["PP302"]


@pytest.mark.parametrize("outcome", ["a|b", "b|a"])
def test_no_outcome_that_is_illegal_when_buffered_is_told_to_depend_on_it(outcome: str) -> None:
    chosen = STUCK.replace(
        '"SEND u to=1;', f'"CHOOSE which {outcome}; USE s v if=which:b; WRITE s w; SEND u to=1;'
    )
    (only,) = api.judge_text(chosen, "chosen").transports

    assert "PP301" in {each.rule for each in only.violations}
    assert not only.warnings


def test_a_rule_that_is_not_selected_is_neither_judged_nor_unknown() -> None:
    asked = api.Asked(select=("PP2",))
    (only,) = api.judge_text(STUCK, "stuck", asked).transports

    assert set(only.instances) <= {"PP201", "PP202", "PP203", "PP204", "PP205"}
    assert not only.violations
