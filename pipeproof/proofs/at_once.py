"""The outcomes of choices decided at once, by engines that can, before each is judged by itself."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Protocol

from pipeproof import engines
from pipeproof.engines import graph
from pipeproof.proofs.asked import ALL, Effort
from pipeproof.proofs.deciding import Deciding
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.logic import Rule
from pipeproof.verdict.decision import Decision

__all__ = ["NAMES", "deciding_at_once"]

NAMES = ("explore", "smt")
"""The engines that look at all outcomes together; the first one enumerates them."""


class _Together(Protocol):
    """How an engine decides every outcome."""

    def __call__(
        self, outcomes: Sequence[Settled], rules: tuple[Rule, ...]
    ) -> tuple[Decision, ...]: ...


def deciding_at_once(deciding: Deciding, outcomes: Sequence[Settled]) -> Deciding:
    """Return what decides as before, and knows of each outcome what was decided at once.

    Where a budget is given, or frontiers are kept, outcomes are decided one by one.

    Args:
        deciding: decides by the engine that is asked for.
        outcomes: all outcomes of a schedule under one transport.
    """
    asked = deciding.asked
    some = [each for each in outcomes if "PP" not in each.model.unjudged]
    if asked.engine == graph.NAME or len(some) < 2:  # noqa: PLR2004  one is decided by itself
        return deciding
    rules = tuple(rule for rule in deciding.rules if not rule.warns)
    told = {
        (name, each.model): decision
        for name, decide in _engines(asked.engine, asked.effort)
        for each, decision in zip(some, decide(some, rules), strict=True)
    }
    effort = dataclasses.replace(asked.effort, told=told)
    return deciding._replace(asked=dataclasses.replace(asked, effort=effort))


def _engines(asked: str, effort: Effort) -> Iterator[tuple[str, _Together]]:
    """Yield the engines that are asked for and may go as far as they are used to."""
    bound = {
        "explore": (effort.states, effort.seconds, effort.memory, effort.frontiers, effort.stopped),
        "smt": (effort.rlimit, effort.seconds),
    }
    for name in NAMES:
        if asked in {name, ALL} and all(each is None for each in bound[name]):
            module = import_module(f"{engines.__name__}.{name}")
            decide: _Together = module.decide_outcomes
            if effort.progress is not None and name == "explore":
                decide = partial(module.decide_outcomes, progress=effort.progress)
            yield name, decide
