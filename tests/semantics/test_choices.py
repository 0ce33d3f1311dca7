"""Outcomes side by side: in each exactly its own guards are left."""

from collections.abc import Callable

import numpy as np
import pytest

from pipeproof.errors import InputError
from pipeproof.proofs.outcomes import TooManyError
from pipeproof.semantics.choices import Beside, Joint, Settled
from pipeproof.semantics.model import Graph, Model
from tests.engines.choosing import choosing, settled, with_choices
from tests.semantics.made import event

ORDERS: list[Callable[[Model], Graph]] = [lambda m: m.progress, lambda m: m.happens_before]


def left_of(joint: Joint, outcome: int) -> tuple[set[tuple[int, int]], set[int], set[object]]:
    """The pairs, the events that never happen, and the thresholds that stand in an outcome."""
    pairs = zip(joint.before.tolist(), joint.after.tolist(), joint.holds[:, outcome], strict=True)
    return (
        {(before, after) for before, after, holds in pairs if holds},
        set(np.flatnonzero(joint.never[:, outcome]).tolist()),
        {(each.event, each.arrivals, each.least) for each in joint.counted if each.holds[outcome]},
    )


def own(
    joint: Joint, graph: Graph, outcome: int
) -> tuple[set[tuple[int, int]], set[int], set[object]]:
    """The same of the graph of an outcome by itself, in the numbers of all."""
    number = joint.event[outcome]
    pairs = set(zip(number[graph.before].tolist(), number[graph.after].tolist(), strict=True))
    counted: set[object] = set()
    for credit in graph.credits:
        arrivals = number[credit.arrived].tolist()
        for n in range(credit.capacity, len(credit.drained)):
            sent = int(number[credit.drained[n]])
            counted.add((sent, tuple(arrivals[:n]), n - credit.capacity + 1))
    return pairs, set(number[graph.never].tolist()), counted


@pytest.mark.parametrize("block", range(4))
def test_in_every_outcome_exactly_its_own_guards_are_left(block: int) -> None:
    shared = alone = gates = 0
    for seed in range(8 * block, 8 * block + 8):
        try:
            every = list(settled(with_choices(seed)))
        except (InputError, TooManyError):
            continue
        for some in every:
            beside = Beside(some)
            for order in ORDERS:
                joint = beside.joint(order)
                gates += joint.size - beside.size
                whole = np.all(joint.holds, axis=1)
                shared, alone = shared + int(np.sum(whole)), alone + int(np.sum(~whole))
                for k, each in enumerate(some):
                    graph = order(each.model)

                    assert len(set(joint.event[k].tolist())) == graph.size
                    assert np.array_equal(
                        np.flatnonzero(joint.present[:, k]), np.sort(joint.event[k])
                    )
                    assert left_of(joint, k) == own(joint, graph, k)
    assert shared > 100
    assert alone > 100
    assert gates > 0


def test_an_instruction_and_a_message_of_several_outcomes_are_one() -> None:
    some = choosing("CHOOSE q a|b; 0F0 if=q:a; SEND F0.0 to=1; 0F1", "RECV F0.0 from=0")
    beside = Beside(some)
    words = [
        {number: event(each.model.frame, k) for k, number in enumerate(beside.events[n].tolist())}
        for n, each in enumerate(some)
    ]
    both = words[0].keys() & words[1].keys()
    moved = {words[0][number] for number in both}

    assert [len(each) for each in words] == [14, 12]
    assert words[1].keys() < words[0].keys()
    assert {"drained F0.0", "arrived F0.0", "end r0", "end r1"} < moved
    assert sorted(words[0][n] for n in words[0].keys() - both) == ["done r0.1", "start r0.1"]


def test_outcomes_that_chose_the_same_are_told_apart() -> None:
    some = choosing("CHOOSE q a|b; 0F0 if=q:a", "")
    twice = [Settled(each.model, ()) for each in some]

    assert Beside(some).picked == tuple(each.picked for each in some)
    assert len({frozenset(each) for each in Beside(twice).picked}) == 2
