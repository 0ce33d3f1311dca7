"""What comes first in every execution, asked for many events at once, is what walking finds."""

import random

import numpy as np
import pytest

from pipeproof.engines import _order
from pipeproof.engines._order import NEVER, HappensBefore
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from tests.oracle.programs import random_programs, random_transport, render

PROGRAMS = 50


def models(seed: int) -> list[Model]:
    rng = random.Random(seed)
    text = render(random_programs(rng), random_transport(rng))
    run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
    transports = run.schedule.transports
    return [Model(run, each, write_in(run, each.wait)) for each in transports]


@pytest.mark.parametrize("few", [0, 1000])
def test_all_pairs_are_ordered_as_walking_says(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_order, "_FEW", few)
    ordered = 0
    for seed in range(PROGRAMS):
        for made in models(seed):
            order, frame = HappensBefore(made), made.frame
            after = np.repeat(np.arange(frame.first_transfer), frame.events)
            before = np.tile(np.arange(frame.events), frame.first_transfer)
            found = order.ordered(before, after)
            if made.happens_before.credits:
                wanted = order._thresholded(before, after)
            else:
                wanted = order._walked(before, after)
            same = frame.chain[before] == frame.chain[after]
            wanted = np.where(same, before <= after, wanted)
            ordered += int(np.sum(wanted & ~same))

            assert np.array_equal(found, wanted), seed
    assert ordered > 500


def test_the_first_event_after_another_is_the_least_that_it_comes_before() -> None:
    found = 0
    for seed in range(PROGRAMS):
        for made in models(seed):
            order, frame = HappensBefore(made), made.frame
            if not order.exact:
                continue
            events = np.repeat(np.arange(frame.first_transfer, frame.events), frame.ranks)
            ranks = np.tile(np.arange(frame.ranks), frame.events - frame.first_transfer)
            first = order.first_after(events, ranks)
            for event, rank, got in zip(events, ranks, first, strict=True):
                own = np.flatnonzero(frame.chain == rank)
                wanted = own[order._walked(np.full(len(own), event), own)]
                found += len(wanted)

                assert got == (wanted[0] if len(wanted) else NEVER), (seed, event, rank)
    assert found > 500
