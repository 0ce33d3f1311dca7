"""Outcomes of choices that are decided at once are decided as each is by itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pytest

from pipeproof.campaign.drawn import Maker
from pipeproof.engines import explore, smt
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.proofs.outcomes import TooManyError
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Decision
from tests.engines.choosing import choosing, settled, with_choices
from tests.proofs.ready_programs import drawn as ready
from tests.semantics.made import rules


def said(made: Model, decision: Decision) -> list[object]:
    """All that a decision says, but for the executions."""
    return [
        dict(decision.instances),
        dict(decision.unknown),
        decision.complete,
        *(
            (
                each.rule.code,
                [made.frame.place(spot) for spot in each.finding.spots],
                each.finding.facts,
                each.cost,
                each.reached,
                len(each.trace) > 0,
            )
            for each in decision.broken
        ),
    ]


def drawn(seed: int) -> str:
    """A random schedule with choices, of either kind."""
    if seed % 2:
        return with_choices(seed)
    maker = Maker(seed)
    maker.choices = True
    return maker.text()


def every(seeds: range) -> Iterator[list[Settled]]:
    for seed in seeds:
        try:
            yield from settled(drawn(seed))
        except (InputError, UnsupportedFeatureError, TooManyError):
            continue


class Engine(Protocol):
    """An engine that decides both ways."""

    def decide(self, model: Model, rules: tuple[Rule, ...]) -> Decision: ...

    def decide_outcomes(
        self, outcomes: Sequence[Settled], rules: tuple[Rule, ...]
    ) -> tuple[Decision, ...]: ...


def compare(engine: Engine, every_one: Iterable[list[Settled]]) -> Counter[str]:
    """Hold both ways against each other, and replay each execution in its outcome."""
    counts: Counter[str] = Counter()
    for some in every_one:
        together = engine.decide_outcomes(some, rules())
        assert len(together) == len(some)
        for each, found in zip(some, together, strict=True):
            alone = engine.decide(each.model, rules())
            counts["outcomes"] += 1
            counts["broken"] += len(alone.broken)

            assert said(each.model, found) == said(each.model, alone), each.picked
            for broken in found.broken:
                if len(broken.trace):
                    replay.check(each.model, broken)
    return counts


ENGINES = pytest.mark.parametrize("engine", [smt, explore], ids=["smt", "explore"])


@ENGINES
@pytest.mark.parametrize("block", range(4))
def test_an_engine_says_the_same_at_once_and_one_by_one(engine: Engine, block: int) -> None:
    counts = compare(engine, every(range(4 * block, 4 * block + 4)))

    assert counts["outcomes"] > 2
    assert counts["broken"] > 5


@ENGINES
def test_an_engine_says_the_same_of_the_orders_of_ready_ranks(engine: Engine) -> None:
    some = [found for seed in range(12, 18) for found in settled(ready(seed).text, 16)]

    assert sum(len(each) > 1 for each in some) > 2
    assert compare(engine, some)["broken"] > 10


@ENGINES
def test_an_engine_says_the_same_of_two_copies_of_the_programs(engine: Engine) -> None:
    sends = "CHOOSE q a|b; SEND v to=1 if=q:a; WRITE s v; USE s v if=q:b"
    receives = "RECV v from=0 h=x buf=s if=q:a; USE s v if=q:a"
    some = choosing(sends, receives, copies=2)

    assert len(some) == 4
    assert compare(engine, [some])["broken"] > 0


@pytest.mark.slow
@ENGINES
@pytest.mark.parametrize("block", range(20))
def test_an_engine_says_the_same_of_many(engine: Engine, block: int) -> None:
    seeds = range(1000 + 50 * block, 1050 + 50 * block)

    assert compare(engine, every(seeds))["outcomes"] > 50
