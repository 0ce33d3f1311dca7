"""Decide rules by exploring states: eager steps at once, branching only on choices.

A state is which events have happened. Every step makes one more happen, so states lie in layers
and no two layers share one: nothing is kept of a layer that is left. Guards are monotone, so steps
are taken as soon as they can be; what comes first is asked by forbidding it. `explore_fully` takes
no such short cut: it visits every state of every interleaving, to hold the other against.
"""

from pipeproof.engines._explore_budget import Budget, Progress, Spent
from pipeproof.engines._explore_deciding import Deciding, Wrong
from pipeproof.engines._explore_frontier import Frontier, Reached
from pipeproof.engines._explore_full import Explored, explore_fully
from pipeproof.engines._explore_showing import Showing
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision

__all__ = [
    "NAME",
    "Budget",
    "Explored",
    "Frontier",
    "Reached",
    "decide",
    "explore_fully",
    "reduced",
]

NAME = "explore"


def decide(
    model: Model,
    rules: tuple[Rule, ...],
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
    frontier: Frontier | None = None,
) -> Decision:
    """Decide `rules` of a model, exactly and for every interleaving.

    Args:
        model: the schedule under its transport.
        rules: what to decide.
        budget: how far to go; a rule that it leaves open is unknown, with what was covered.
        progress: told the states so far and the layer.
        frontier: where an exploration of the same model stopped (`reduced`).

    Returns:
        The instances of each rule, and all that breaks one, what needs the fewest events first.
    """
    deciding = Deciding(model, Spent(budget or Budget(), progress), frontier)
    instances: dict[str, int] = {}
    unknown: dict[str, str] = {}
    found: list[tuple[Rule, Wrong]] = []
    for rule in rules:
        decided = deciding.decide(rule.axiom)
        instances[rule.code] = decided.instances
        found.extend((rule, wrong) for wrong in decided.wrong)
        if decided.open:
            unknown[rule.code] = decided.open
    showing = Showing(deciding)
    costs = showing.costs(found)
    order = sorted(range(len(found)), key=lambda k: (costs[k], *_key(model, *found[k])))
    broken = tuple(showing.show(*found[k], costs[k]) for k in order)
    return Decision(NAME, instances, broken, complete=deciding.complete, unknown=unknown)


def reduced(
    model: Model,
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
    frontier: Frontier | None = None,
) -> Reached:
    """Explore a model as `decide` does, and return the states in which nothing more can happen."""
    return Deciding(model, Spent(budget or Budget(), progress), frontier).reached


def _key(model: Model, rule: Rule, wrong: Wrong) -> tuple[str, list[tuple[int, int]], str]:
    """Break ties: the lower code, then the lower rank and position."""
    finding = wrong.finding
    return rule.code, [model.frame.place(spot) for spot in finding.spots], str(finding.facts)
