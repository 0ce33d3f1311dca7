"""The explorer against plain sets, against itself without reduction, and against the graph."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pytest

from pipeproof.engines import graph
from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_deciding import Deciding
from pipeproof.engines._explore_guards import bits_of, events_of
from pipeproof.engines._explore_least import shortest
from pipeproof.engines.explore import Budget, decide, explore_fully, reduced
from pipeproof.frontends import spec
from pipeproof.ir.operations import IntArray
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.found import NO_EVENT
from pipeproof.semantics.logic import HAPPENS_BEFORE, PROGRESS
from pipeproof.semantics.model import Model
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Decision
from tests.engines.naive import naive
from tests.oracle.programs import (
    Compute,
    Programs,
    random_programs,
    random_transport,
    recv,
    render,
    send,
)
from tests.oracle.stored import stored_text
from tests.semantics.made import places, rules

COUNTED = {"completion": "buffered", "capacity": 2, "match": "tag", "wait": "explicit"}
WEAK = {"completion": "rendezvous", "weak": ["c", "d"]}


def models(text: str) -> list[Model]:
    """The model of a file under each of its transports."""
    run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
    return [Model(run, each, write_in(run, each.wait)) for each in run.schedule.transports]


def drawn(
    seeds: range,
    transport: Mapping[str, object] | None = None,
    *,
    ranks: tuple[int, int] = (2, 3),
    messages: tuple[int, int] = (1, 3),
    weak: bool = True,
) -> Iterator[Model]:
    """Random programs, small ones if nothing else is said."""
    for seed in seeds:
        rng = random.Random(seed)
        programs = random_programs(rng, ranks=ranks, messages=messages)
        yield from models(render(programs, transport or random_transport(rng, weak=weak)))


def stored(seeds: range) -> Iterator[Model]:
    for seed in seeds:
        yield from models(stored_text(random.Random(seed)))


def told(made: Model, found: Decision, left: set[str]) -> Counter[tuple[object, ...]]:
    """What is broken of rules that are not `left` open: where, and what is said of it."""
    return Counter(
        (
            each.rule.code,
            *places(made.frame, each.finding),
            *sorted(each.finding.facts.items()),
            each.reached,
        )
        for each in found.broken
        if each.rule.code not in left
    )


def agree(made: Model) -> Decision:
    """Hold a decision against that of the graph engine, and replay all that it shows.

    What the graph engine leaves open, the explorer may decide.
    """
    own, other = decide(made, rules()), graph.decide(made, rules())
    left = set(other.unknown)

    assert set(own.unknown) <= left
    assert told(made, own, left) == told(made, other, left)
    assert dict(own.instances) == dict(other.instances)
    assert own.complete == other.complete
    for broken in own.broken:
        replay.check(made, broken)
    return own


def test_every_state_is_counted_once_and_reduced_runs_end_there() -> None:
    counted = 0
    for made in drawn(range(50), weak=False):
        found = explore_fully(made, PROGRESS, Budget(states=800))
        if found.over:
            continue
        other = naive(made, made.progress)
        ends = {bits_of(state, made.events) for state in other.ends}

        assert (found.states, found.transitions) == (len(other.states), other.transitions)
        assert found.widest == max(map(len, other.layers))
        assert set(found.ends) == ends == set(reduced(made).ends)
        counted += 1
    assert counted > 30


def test_weak_messages_end_where_the_reduced_exploration_ends() -> None:
    moved = 0
    for made in drawn(range(40), WEAK):
        found = explore_fully(made, PROGRESS, Budget(states=2000))
        moved += len(made.weak) > 0 and not found.over

        assert found.over or found.ends == reduced(made).ends
    assert moved > 15


def counted(seeds: range) -> Iterator[Model]:
    """Messages of one channel that are received in another order, so that credits matter."""
    for seed in seeds:
        rng = random.Random(seed)
        names = "abcd"[: rng.randint(3, 4)]
        sent = [send(name, 1, h=rng.choice(["x", "x", ""])) for name in names]
        received = [recv(name, 0) for name in rng.sample(names, len(names))]
        programs: Programs = ((*sent, Compute("0F2"), Compute("0F2")), tuple(received))
        yield from models(render(programs, COUNTED | {"wait": "blocking"}))


def every_pair(made: Model) -> IntArray:
    number = np.arange(made.events)
    return np.stack((np.repeat(number, made.events), np.tile(number, made.events)), axis=1)


def test_what_is_seen_out_of_order_is_what_is_found_by_forbidding() -> None:
    """For each two events of a schedule: the second is seen without the first, or never is."""
    late = early = 0
    for made in [
        *drawn(range(25)),
        *drawn(range(10), COUNTED),
        *counted(range(6)),
        *stored(range(8)),
    ]:
        found = explore_fully(made, HAPPENS_BEFORE, Budget(states=4000))
        if found.over:
            continue
        pairs = every_pair(made)
        seen = explore_fully(made, HAPPENS_BEFORE, pairs=pairs).out_of_order
        happening = set(events_of(found.ends[0], made.events))
        asked = {(a, b) for a, b in pairs.tolist() if b in happening}
        ordered = Deciding(made, Spent(Budget()))._ordered(asked)

        for (a, b), out in zip(pairs.tolist(), seen.tolist(), strict=True):
            if b in happening:
                assert ordered[a, b] is not out
                late, early = late + out, early + (not out)
    assert late > 1000
    assert early > 1000


def test_runs_are_as_short_as_any_that_shows_the_same() -> None:
    """Also where it has to be chosen whose arrival frees a credit."""
    chosen = 0
    for made in [*drawn(range(30), COUNTED, messages=(2, 3)), *counted(range(20))]:
        if explore_fully(made, HAPPENS_BEFORE, Budget(states=500)).over:
            continue
        every = naive(made, made.happens_before)
        deciding = Deciding(made, Spent(Budget()))
        happening = deciding.furthest.order
        for after, before in product(happening[::3], [NO_EVENT, *happening[::4]]):
            fewest = every.fewest(after, before)
            if fewest is not None:
                allowed = set(happening) - {before}
                assert len(shortest(deciding.order, [after], allowed)) == fewest
                chosen += bool(made.happens_before.credits)
    assert chosen > 200


def test_a_cost_counts_what_happens_before_in_every_execution() -> None:
    told = credited = 0
    for made in [*drawn(range(30), COUNTED, messages=(2, 3)), *counted(range(20))]:
        if explore_fully(made, HAPPENS_BEFORE, Budget(states=500)).over:
            continue
        every = naive(made, made.happens_before)
        for broken in decide(made, rules("PP102", "PP401", "PP405", "PP501")).broken:
            (spot,) = broken.finding.spots
            if broken.reached:
                assert broken.cost == len(every.always_before(spot.event))
                told += 1
                credited += bool(made.happens_before.credits)
    assert told > 15
    assert credited > 5


def test_explorer_and_graph_agree_on_random_programs() -> None:
    made = drawn(range(200), ranks=(2, 4), messages=(1, 7))

    assert 120 < sum(bool(agree(each).broken) for each in made) < 190


def test_explorer_and_graph_agree_on_storage() -> None:
    found = Counter[str]()
    for made in stored(range(45)):
        decision = agree(made)
        found.update({each.rule.code for each in decision.broken} or {"proved"})
    assert all(found[code] > 2 for code in ("PP501", "PP502", "PP503", "PP504", "PP505"))
    assert all(found[code] > 2 for code in ("PP301", "PP506", "proved"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 9000, 1000))
def test_explorer_and_graph_agree_at_large(seed: int) -> None:
    for made in drawn(range(seed, seed + 1000), ranks=(2, 4), messages=(1, 7)):
        agree(made)
    for made in drawn(range(seed, seed + 200), COUNTED | {"weak": ["c"]}, messages=(2, 8)):
        agree(made)
    for made in stored(range(seed, seed + 500)):
        agree(made)
