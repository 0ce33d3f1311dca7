"""Decide rules by exploring states: eager steps at once, branching only on choices.

A state is which events have happened. Every step makes one more happen, so states lie in layers
and no two layers share one: nothing is kept of a layer that is left. Guards are monotone, so steps
are taken as soon as they can be; what comes first is asked by forbidding it. `explore_fully` takes
no such short cut: it visits every state of every interleaving, to hold the other against.
"""

from collections.abc import Callable

from pipeproof.engines._explore_budget import Budget, Progress, Spent
from pipeproof.engines._explore_deciding import Deciding, Wrong
from pipeproof.engines._explore_frontier import Frontier, Reached, fingerprint
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
    "name_of",
    "reduced",
]

NAME = "explore"


def decide(  # noqa: PLR0913  each says one thing
    model: Model,
    rules: tuple[Rule, ...],
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
    frontier: Frontier | None = None,
    kept: Callable[[Frontier, str], None] | None = None,
) -> Decision:
    """Decide `rules` of a model, exactly and for every interleaving.

    Args:
        model: the schedule under its transport.
        rules: what to decide.
        budget: how far to go; a rule that it leaves open is unknown, with what was covered.
        progress: told the states so far and the layer.
        frontier: where an exploration of the same model stopped.
        kept: told where this one stands at its end, and what of the budget ran out.

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
    if kept is not None:
        kept(_bookmark(model, deciding), deciding.spent.over)
    return Decision(NAME, instances, broken, complete=deciding.complete, unknown=unknown)


def name_of(model: Model) -> str:
    """Return the name under which frontiers know what is explored of a model."""
    return fingerprint(model.progress, "reduced")


def _bookmark(model: Model, deciding: Deciding) -> Frontier:
    """Return where an exploration stands: where it stopped, or that nothing is left of it."""
    reached = deciding.reached
    if reached.frontier is not None:
        return reached.frontier
    tallies, seen = {"states": deciding.spent.total}, {"ends": reached.ends}
    return Frontier(name_of(model), reached.layers, (), tallies=tallies, seen=seen)


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
