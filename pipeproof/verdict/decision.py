"""What an engine hands over: everything that breaks a rule, and an execution for each."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Finding
from pipeproof.semantics.logic import Rule

__all__ = ["Broken", "Decision", "added"]


class Broken(NamedTuple):
    """A rule that does not hold at a finding.

    `cost` counts the events before its places in every execution. `trace` holds events in an
    order in which they can happen, up to the first illegal one; it is empty where no event shows
    the fault, or where others of the rule already have one. `reached` is False where its places
    are not reached.
    """

    rule: Rule
    finding: Finding
    cost: int
    trace: IntArray
    reached: bool


class Decision(NamedTuple):
    """What an engine found: instances of each rule by code, and all that is broken, first first.

    `complete` says that every event happens in every execution. `unknown` holds the codes that the
    engine could not decide, and why. `counts` says what it took: `states` that were explored,
    `steps` of a solver.
    """

    engine: str
    instances: Mapping[str, int]
    broken: tuple[Broken, ...]
    complete: bool
    unknown: Mapping[str, str] = MappingProxyType({})
    counts: Mapping[str, int] = MappingProxyType({})


def added(every: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    """Return the sum of what was counted, name by name, in order of the names."""
    total: dict[str, int] = {}
    for counts in every:
        for name, number in counts.items():
            total[name] = total.get(name, 0) + number
    return MappingProxyType(dict(sorted(total.items())))
