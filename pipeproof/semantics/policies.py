"""The rules as they are read where a fault strikes: its policy, and nothing else, must be kept."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pipeproof.semantics.logic import Axiom, Finally, NotAfter, Rel, Rule

__all__ = ["JUDGED", "under_faults"]

JUDGED: Mapping[str, Axiom] = MappingProxyType(
    {
        "PP106": Finally(Rel("diverged")),
        "PP301": Finally(Rel("waiting")),
        "PP706": NotAfter(Rel("late_steps")),
    }
)
"""What each of the rules that speak of faults asks of an alternative, by code."""


def under_faults(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules that are judged in an alternative in which something goes wrong."""
    return tuple(
        rule._replace(axiom=JUDGED[rule.code], message="{why}")
        for rule in rules
        if rule.code in JUDGED
    )
