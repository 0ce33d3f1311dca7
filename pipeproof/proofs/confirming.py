"""What a solver says is impossible is believed once a second engine says so, too."""

from collections.abc import Sequence

from pipeproof.errors import DisagreementError
from pipeproof.proofs import agreement
from pipeproof.proofs.agreement import ALONE, SOLVER, USUAL
from pipeproof.proofs.asked import Effort
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision, added

__all__ = ["decide"]

_SECOND = ("graph", "explore")


def decide(name: str, model: Model, rules: tuple[Rule, ...], effort: Effort = USUAL) -> Decision:
    """Decide with one engine; what rests on a solver's word alone is asked of a second one.

    Counterexamples need no second engine: they are replayed.

    Raises:
        DisagreementError: the second engine finds broken what the solver says holds.
    """
    found = agreement.within(effort, name)(model, rules)
    if name != SOLVER:
        return found
    told = {each.rule.code for each in found.broken} | found.unknown.keys()
    open_ = [rule for rule in rules if rule.code not in told]
    names, counts = [name], [found.counts]
    for second in _SECOND:
        if open_:
            names.append(second)
            told_second = agreement.within(effort, second)(model, tuple(open_))
            counts.append(told_second.counts)
            open_ = _left(second, told_second, open_)
    alone = dict.fromkeys((rule.code for rule in open_), ALONE)
    unknown = {**found.unknown, **alone}
    return found._replace(engine=", ".join(names), unknown=unknown, counts=added(counts))


def _left(name: str, second: Decision, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules that a second engine leaves open, none of which it finds broken."""
    codes = {rule.code for rule in rules}
    broken = next((each.rule for each in second.broken if each.rule.code in codes), None)
    if broken is not None:
        which = f"{broken.code} {broken.name}"
        message = f"engines disagree on {which}: {SOLVER} says that it holds, {name} does not"
        raise DisagreementError(message)
    return [rule for rule in rules if rule.code in second.unknown]
