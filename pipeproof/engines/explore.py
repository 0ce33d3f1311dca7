"""Decide rules by exploring states: eager steps at once, branching only on choices.

A state is which events have happened. Every step makes one more happen, so states lie in layers
and no two layers share one: nothing is kept of a layer that is left. Guards are monotone, so steps
are taken as soon as they can be; what comes first is asked by forbidding it. `explore_fully` takes
no such short cut: it visits every state of every interleaving, to hold the other against.
"""

from collections.abc import Callable, Sequence

from pipeproof.engines._explore_budget import Budget, Progress, Spent
from pipeproof.engines._explore_choices import (
    Counts,
    choice_system,
    explore_choices,
    explore_choices_fully,
)
from pipeproof.engines._explore_deciding import Deciding, Wrong
from pipeproof.engines._explore_frontier import Frontier, Reached, fingerprint
from pipeproof.engines._explore_full import Explored, explore_fully
from pipeproof.engines._explore_guards import bits_of
from pipeproof.engines._explore_showing import Showing
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.choices import Beside, Settled
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision, added

__all__ = [
    "NAME",
    "Budget",
    "Counts",
    "Explored",
    "Frontier",
    "Reached",
    "decide",
    "decide_outcomes",
    "explore_fully",
    "explore_outcomes_fully",
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
    counts = {"states": deciding.spent.total}
    return Decision(NAME, instances, broken, deciding.complete, unknown, counts)


def decide_outcomes(
    outcomes: Sequence[Settled],
    rules: tuple[Rule, ...],
    *,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> tuple[Decision, ...]:
    """Decide `rules` in every outcome of choices as `decide` does in one, explored at once.

    One exploration finds how far all outcomes come: what happens in all that are left happens
    once. Outcomes with weak communicators are explored one by one, and so are all where the budget
    ends.
    """
    ends: tuple[int, ...] | None = None
    if len(outcomes) > 1 and not any(len(each.model.weak) for each in outcomes):
        beside = Beside(outcomes)
        spent = Spent(budget or Budget(), progress)
        ends = explore_choices(choice_system(beside), spent)
    if ends is None:
        return tuple(decide(e.model, rules, budget=budget, progress=progress) for e in outcomes)
    known = zip(outcomes, ends, beside.events, strict=True)
    stands = [_ended(each.model, end, own) for each, end, own in known]
    first, *others = (
        decide(each.model, rules, budget=budget, progress=progress, frontier=stand)
        for each, stand in zip(outcomes, stands, strict=True)
    )
    return first._replace(counts=added([first.counts, {"states": spent.total}])), *others


def explore_outcomes_fully(outcomes: Sequence[Settled], *, budget: Budget | None = None) -> Counts:
    """Visit every state of every outcome that has no weak communicators, those of several once."""
    system = choice_system(Beside(outcomes))
    return explore_choices_fully(system, Spent(budget or Budget()))


def _ended(model: Model, end: int, own: IntArray) -> Frontier:
    """Return where an exploration of one outcome stands: nothing is left of it."""
    happened = [k for k, event in enumerate(own.tolist()) if end >> event & 1]
    return Frontier(name_of(model), 1, (), seen={"ends": (bits_of(happened, model.events),)})


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
