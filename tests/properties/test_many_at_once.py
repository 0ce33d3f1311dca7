"""What the graph engine asks of many events at once, against one walk for each of them."""

import random
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from pipeproof.engines import graph
from pipeproof.engines._counts import Counts
from pipeproof.engines._order import HappensBefore
from pipeproof.engines._reach import NEVER, Reach
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from tests.oracle.programs import random_programs, random_transport, render
from tests.properties.test_against_naive import closure, column, guards, random_pairs
from tests.semantics.made import rules


def drawn(number: int) -> Iterator[Model]:
    """Random programs of two to four ranks, most of them stuck somewhere."""
    for seed in range(number):
        rng = random.Random(seed)
        programs = random_programs(rng, ranks=(2, 4), messages=(2, 8))
        text = render(programs, random_transport(rng, weak=True))
        run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
        yield from (Model(run, each, write_in(run, each.wait)) for each in run.schedule.transports)


def test_the_first_event_behind_each_is_found_also_where_events_wait_for_each_other() -> None:
    circular = 0
    for seed in range(150):
        rng = random.Random(seed)
        size, ranks = rng.randint(4, 16), 2
        chain = np.asarray([rng.randrange(-1, ranks) for _ in range(size)], np.int64)
        pairs = random_pairs(rng, size)
        before = closure(size, pairs)
        made = Reach(guards(size, pairs), chain)

        first = made.first(np.arange(ranks))

        for event in range(size):
            for rank in range(ranks):
                own = [
                    other
                    for other in range(size)
                    if chain[other] == rank and (other == event or event in before[other])
                ]
                assert first[event, rank] == min(own, default=NEVER)
            assert made.circular[event] == (event in before[event])
        circular += bool(made.circular.any())
    assert 50 < circular < 150


def test_costs_counted_at_once_are_those_of_walks() -> None:
    several = stuck = 0
    for made in drawn(60):
        order, rng = HappensBefore(made), random.Random(made.events)
        programs = np.arange(made.frame.first_transfer)
        asked = [column(*sorted(rng.sample(programs.tolist(), rng.randint(1, 3)))) for _ in "12345"]
        with patch("pipeproof.engines._counts._FEW", 0):
            counts = Counts(order, asked)
        for events in asked:
            walked = order.ancestors.of(events)

            assert counts.of(events) == np.sum(walked < made.events)
            several += len({*made.frame.chain[events].tolist()}) > 1
        stuck += not order._all_happen
    assert several > 50
    assert stuck > 10


def test_a_few_questions_and_those_of_no_program_are_left_to_walks() -> None:
    made = next(made for made in drawn(20) if len(made.frame.pairing))
    order = HappensBefore(made)
    moving = column(made.frame.first_transfer)
    asked = [column(event) for event in range(made.frame.first_transfer)]
    counts = Counts(order, [*asked, moving])

    answers = [counts.of(events) for events in asked]
    assert answers[:16] == [None] * 16
    assert None not in answers[16:]
    assert counts.of(moving) is None


def decided(made: Model, few: int) -> Decision:
    """Decide where up to a few questions are left to walks, and costs count paths only."""
    with (
        patch("pipeproof.engines._order._FEW", few),
        patch("pipeproof.engines._counts._FEW", few),
        patch.object(graph, "_COUNTED_EVENTS", 0),
    ):
        return graph.decide(made, rules())


def shown(decision: Decision) -> list[tuple[object, ...]]:
    return [
        (each.rule.code, each.finding, each.cost, each.trace.tolist(), each.reached)
        for each in decision.broken
    ]


def test_a_decision_is_the_same_asked_at_once_and_one_by_one() -> None:
    broken = 0
    for made in drawn(40):
        walked, once = (decided(made, few) for few in (2**40, 0))

        assert shown(once) == shown(walked)
        broken += len(once.broken)
    assert broken > 40
