"""Every rule catches its mutants, and what it lets pass does the same as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeproof import api
from tests.interpreter.mutations import RULES, Mutant, Tally, mutants, tally

if TYPE_CHECKING:
    from collections.abc import Callable


def judged(text: str) -> tuple[str, frozenset[str]]:
    """The verdict over a schedule, and the rules that are broken."""
    found = api.judge_text(text, "mutant.yaml")
    violations = [v for transport in found.transports for v in transport.violations]
    return found.outcome.value, frozenset(violation.rule for violation in violations)


def told(missed: list[tuple[Mutant, str]], most: int = 3) -> str:
    """Some mutants with the reason and both texts."""
    return "\n".join(
        f"{mutant.mutation.name}: {reason}\n{mutant.original}---\n{mutant.text}"
        for mutant, reason in missed[:most]
    )


def counts(rule: str, found: Tally) -> str:
    """One line that says how many there were of each."""
    return (
        f"{rule}: {found.all} mutants, {sum(found.caught.values())} caught, "
        f"{sum(found.same.values())} equivalent, {len(found.missed)} missed"
    )


@pytest.mark.parametrize("rule", RULES)
def test_mutants_are_caught_by_the_rule_that_names_them(rule: str) -> None:
    found = tally(mutants(rule, 5), judged)

    assert found.caught, counts(rule, found)
    assert not found.missed, told(found.missed)
    assert not found.disputed, told(found.disputed)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_two_hundred_mutants_of_a_rule_are_caught_or_do_the_same(
    rule: str, record_property: Callable[[str, object], None]
) -> None:
    found = tally(mutants(rule, 200), judged)

    record_property("counts", counts(rule, found))
    assert found.all >= 200, counts(rule, found)
    assert sum(found.same.values()) * 4 <= found.all, f"{counts(rule, found)} {found.same}"
    assert not found.missed, f"{counts(rule, found)}\n{told(found.missed)}"
    assert not found.disputed, f"{counts(rule, found)}\n{told(found.disputed)}"
