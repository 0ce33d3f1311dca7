"""What the first engine leaves open is asked of the others before it is unknown."""

import dataclasses
from collections.abc import Sequence

from pipeproof.proofs import agreement
from pipeproof.proofs.agreement import ALONE, EXPLORER, SOLVER
from pipeproof.proofs.asked import Effort
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision, added

__all__ = ["filled"]

_STATES = 500_000
_STEPS = 2_000_000  # of the solver
_EVENTS = {EXPLORER: 5_000, SOLVER: 500}
"""Up to how many events each is asked where no budget is given."""


def filled(found: Decision, model: Model, rules: Sequence[Rule], effort: Effort) -> Decision:
    """Return what an engine found, with what others find of the rules that it leaves open.

    The explorer is asked, then the solver. That a rule holds is not taken from the solver alone:
    what it finds broken has an execution, which is replayed.
    """
    open_ = [each for each in rules if each.code in found.unknown.keys() - model.unjudged.keys()]
    said = effort.states is not None or effort.rlimit is not None
    filling = _Filling(found, _bounded(effort))
    for name, most in _EVENTS.items():
        if open_ and (said or model.events <= most):
            open_ = filling.ask(name, model, open_)
    return filling.decision(model)


def _bounded(effort: Effort) -> Effort:
    return dataclasses.replace(
        effort,
        states=_STATES if effort.states is None else effort.states,
        rlimit=_STEPS if effort.rlimit is None else effort.rlimit,
    )


class _Filling:
    """A decision that others add to."""

    def __init__(self, found: Decision, effort: Effort) -> None:
        self._found, self._effort = found, effort
        self._engines = [found.engine]
        self._counts = [found.counts]
        self._unknown = dict(found.unknown)
        self._broken = list(found.broken)
        self._shown: dict[str, tuple[str, list[Broken]]] = {}

    def ask(self, name: str, model: Model, rules: Sequence[Rule]) -> list[Rule]:
        """Ask an engine, and return the rules that are open still."""
        found = agreement.within(self._effort, name)(model, tuple(rules))
        self._counts.append(found.counts)
        left: list[Rule] = []
        for rule in rules:
            own = [each for each in found.broken if each.rule.code == rule.code]
            if rule.code in found.unknown or (name == SOLVER and not own):
                why = found.unknown.get(rule.code, ALONE)
                self._unknown[rule.code] += f"; {name}: {why}"
                if shown := [each for each in own if len(each.trace)]:
                    self._shown.setdefault(rule.code, (name, shown))
                left.append(rule)
                continue
            self._told(name, own)
            del self._unknown[rule.code]
        return left

    def _told(self, name: str, broken: list[Broken]) -> None:
        self._broken += broken
        if name not in self._engines:
            self._engines.append(name)

    def decision(self, model: Model) -> Decision:
        """Return what was found; what is shown of a rule that is open stays shown."""
        for code in sorted(self._unknown.keys() & self._shown.keys()):
            self._told(*self._shown[code])
        self._broken.sort(key=lambda each: _key(model, each))
        return self._found._replace(
            engine=", ".join(self._engines),
            unknown=self._unknown,
            broken=tuple(self._broken),
            counts=added(self._counts),
        )


def _key(model: Model, broken: Broken) -> tuple[int, str, list[tuple[int, int]]]:
    places = [model.frame.place(spot) for spot in broken.finding.spots]
    return broken.cost, broken.rule.code, places
