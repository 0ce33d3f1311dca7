"""Three engines asked the same: they agree, or nobody is believed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING

from pipeproof import engines, plugins
from pipeproof.engines._explore_budget import BY_THE_CLOCK
from pipeproof.errors import DisagreementError
from pipeproof.proofs.asked import Effort
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision, added
from pipeproof.verdict.telling import trace

if TYPE_CHECKING:
    from pipeproof.engines.explore import Frontier

__all__ = [
    "ALONE",
    "EXPLORER",
    "SOLVER",
    "USUAL",
    "Decide",
    "all_engines",
    "decide_all",
    "engine",
    "within",
]

Decide = Callable[[Model, tuple[Rule, ...]], Decision]
_Places = tuple[tuple[int, int], ...]
_FIRST = "graph"
_BUDGET = "the solver's budget"
_TIME = "the solver's time limit"

USUAL = Effort()
"""As far as engines go where nothing is asked of them."""
EXPLORER = "explore"
SOLVER = "smt"
"""The engine whose *proved* is the word of a solver: no execution can be shown for it."""
ALONE = "it rests on the solver alone: no second engine decides it"


def all_engines() -> tuple[str, ...]:
    """Return the names of the engines, the one whose words are told first."""
    others = [name for name in plugins.names(engines) if name not in (_FIRST, "engine")]
    return (_FIRST, *others)


def engine(name: str) -> Decide:
    """Return how the engine of this name decides; it is imported when it is asked for."""
    decide: Decide = import_module(f"{engines.__name__}.{name}").decide
    return decide


def within(effort: Effort, name: str) -> Decide:
    """Return how the engine of this name decides, with no more effort than that."""
    told = effort.told
    if told is not None:
        rest = within(replace(effort, told=None), name)
        return lambda model, rules: told.get((name, model)) or rest(model, rules)
    if effort != USUAL and name == EXPLORER:
        return lambda model, rules: _explored(effort, model, rules)
    if name == SOLVER and (effort.rlimit is not None or effort.seconds is not None):
        return lambda model, rules: _solved(effort, model, rules)
    return engine(name)


def _explored(effort: Effort, model: Model, rules: tuple[Rule, ...]) -> Decision:
    from pipeproof.engines import explore  # noqa: PLC0415  when asked for

    usual, transport = explore.Budget(), model.frame.transport.name
    budget = explore.Budget(
        states=usual.states if effort.states is None else effort.states,
        seconds=usual.seconds if effort.seconds is None else effort.seconds,
        memory=usual.memory if effort.memory is None else effort.memory,
        stopped=effort.stopped or usual.stopped,
    )
    frontiers, frontier = effort.frontiers, None
    if frontiers is not None:
        frontier = frontiers.take(transport, explore.name_of(model))

    def kept(left: "Frontier", over: str) -> None:
        if frontiers is not None:
            frontiers.keep(transport, left, over)

    return explore.decide(
        model, rules, budget=budget, progress=effort.progress, frontier=frontier, kept=kept
    )


def _solved(effort: Effort, model: Model, rules: tuple[Rule, ...]) -> Decision:
    from pipeproof.engines import smt  # noqa: PLC0415  z3 is loaded when asked for

    limits, said = smt.LIMITS, dict[str, str]()
    if effort.rlimit is not None:
        limits = limits._replace(question=effort.rlimit, total=effort.rlimit)
        said[_BUDGET] = f"{_BUDGET} of {effort.rlimit} steps"
    if effort.seconds is not None:
        limits = limits._replace(seconds=effort.seconds)
        said[_TIME] = f"{_TIME} of {effort.seconds:g} s ({BY_THE_CLOCK})"
    found = smt.decide(model, rules, limits)
    unknown = dict(found.unknown)
    for word, more in said.items():
        unknown = {code: why.replace(word, more) for code, why in unknown.items()}
    return found._replace(unknown=unknown)


def decide_all(model: Model, rules: tuple[Rule, ...], effort: Effort = USUAL) -> Decision:
    """Decide with every engine, and return what the first found, once all found the same.

    They agree where, for every rule that both decided, the same places break it. What the first
    leaves open is decided where all that decide it find the same, and stays open where they differ,
    and where only a solver says that it holds.

    Raises:
        DisagreementError: two engines differ; it holds what each found, with its execution.
    """
    found = {name: within(effort, name)(model, rules) for name in all_engines()}
    first = found[_FIRST]
    for left, right in combinations(found.items(), 2):
        _compare(model, rules, left, right)
    unknown, broken = dict(first.unknown), list(first.broken)
    for code in first.unknown:
        by = [name for name, each in found.items() if code not in each.unknown]
        decided = [found[name] for name in by]
        told = [[each for each in d.broken if each.rule.code == code] for d in decided]
        alike = {frozenset(_places(model, each) for each in own) for own in told}
        if by == [SOLVER] and not told[0]:
            unknown[code] = ALONE
        elif len(alike) == 1:
            del unknown[code]
            broken.extend(told[0])
        elif alike:
            unknown[code] = "the engines that decide it differ"
    broken.sort(key=lambda each: (each.cost, each.rule.code, _places(model, each)))
    return first._replace(
        engine=", ".join(found),
        unknown=unknown,
        broken=tuple(broken),
        counts=added(each.counts for each in found.values()),
    )


def _compare(
    model: Model,
    rules: tuple[Rule, ...],
    left: tuple[str, Decision],
    right: tuple[str, Decision],
) -> None:
    for rule in rules:
        if rule.code in left[1].unknown or rule.code in right[1].unknown:
            continue
        ours, theirs = _broken(model, left[1], rule), _broken(model, right[1], rule)
        if ours.keys() != theirs.keys():
            said = (_said(model, left[0], ours, theirs), _said(model, right[0], theirs, ours))
            message = f"engines disagree on {rule.code} {rule.name}: {'; '.join(said)}"
            raise DisagreementError(message)


def _broken(model: Model, decision: Decision, rule: Rule) -> Mapping[_Places, Broken]:
    return {_places(model, each): each for each in decision.broken if each.rule.code == rule.code}


def _places(model: Model, broken: Broken) -> _Places:
    return tuple(model.frame.place(spot) for spot in broken.finding.spots)


def _said(
    model: Model, name: str, own: Mapping[_Places, Broken], other: Mapping[_Places, Broken]
) -> str:
    """Say what an engine found that another did not, with the execution that shows it."""
    alone = [places for places in own if places not in other]
    if not alone:
        return f"{name} finds nothing more"
    places = ", ".join(f"r{rank}.{position}" for rank, position in alone[0]) or "no place"
    steps = trace(model, own[alone[0]].trace.tolist())
    run = ", ".join(f"{step.event} {step.phase}" for step in steps)
    return f"{name} finds it broken at {places}, by the execution [{run}]"
