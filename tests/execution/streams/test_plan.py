from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeproof.execution.streams.plan import Lane
from tests.execution.played import SPECS, document, models
from tests.execution.streams.flowed import only, order, queues, running
from tests.semantics import made

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from pipeproof.execution.streams.plan import Launch
    from pipeproof.semantics.model import Model

SOME = (
    "broadcast-is-no-barrier-fixed",
    "crossed-sends-fixed",
    "one-buffer-short-fixed",
    "receive-without-wait-fixed",
    "ring-of-send-groups-fixed",
    "safe-only-while-sends-wait-fixed",
    "send-slot-unguarded-fixed",
    "slot-guarded-by-itself-fixed",
    "two-receives-one-slot-fixed",
)


def planned(model: Model, seed: int = 0, *, forced: bool = False) -> list[Launch]:
    made_ = running(model, queues(0))
    return made_.plan(model.happens_before, order(model, seed), forced=forced)


def closed(size: int, pairs: Iterable[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """What comes before what, directly or not."""
    reach = np.zeros((size, size), np.bool_)
    for before, after in pairs:
        reach[before, after] = True
    for middle in range(size):
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach


def pairs_of(launches: list[Launch]) -> list[tuple[int, int]]:
    """What streams and events order: a stream's own, and what each waits for."""
    found = [(each, launch.event) for launch in launches for each in launch.waits]
    for stream in {launch.stream for launch in launches}:
        own = [launch.event for launch in launches if launch.stream == stream]
        found += pairwise(own)
    return found


@pytest.mark.parametrize("name", SOME)
def test_streams_order_what_the_schedule_orders_and_nothing_else(name: str) -> None:
    for model in models(document((SPECS / "legal" / f"{name}.yaml").read_text())):
        guards, events = model.happens_before, model.events
        edges = list(zip(guards.before.tolist(), guards.after.tolist(), strict=True))
        wanted = closed(guards.size, edges)[:events, :events]
        for seed in (0, 1):
            launches = planned(model, seed)

            assert len(launches) == events
            assert (closed(events, pairs_of(launches)) == wanted).all()


def test_copies_that_may_swap_have_streams_of_their_own() -> None:
    written = made.text(
        "SEND F0.0 to=1 h=a; SEND F0.1 to=1 h=b; WAIT a; WAIT b",
        "RECV F0.0 from=0 h=a; RECV F0.1 from=0 h=b; WAIT a; WAIT b; 1F0; 1F1",
        microbatches=2,
        fragment=True,
        transport={"completion": "buffered", "queue": "none", "wait": "explicit"},
    )
    queued = written.replace('"none"', '"edge"')

    streams = [
        {each.stream for each in planned(only(text)) if each.lane == Lane(0, copies=True)}
        for text in (written, queued)
    ]
    assert [len(each) for each in streams] == [2, 1]


def test_a_forced_order_is_the_only_one() -> None:
    model = only((SPECS / "legal" / "one-warmup-too-many-fixed.yaml").read_text())
    launches = planned(model, 2, forced=True)
    asked = order(model, 2)

    reach = closed(model.events, pairs_of(launches))
    assert tuple(launch.event for launch in launches) == asked
    assert all(reach[before, after] for before, after in pairwise(asked))


def test_a_message_waits_for_one_that_made_room() -> None:
    written = made.text(
        "SEND F0.0 to=1; SEND F0.1 to=1",
        "RECV F0.0 from=0; RECV F0.1 from=0; 1F0; 1F1",
        microbatches=2,
        fragment=True,
        transport="buffered-1",
    )
    model = only(written)
    drained, arrived = model.frame.first_transfer + 2, model.frame.first_transfer + 1

    reach = closed(model.events, pairs_of(planned(model)))
    assert reach[arrived, drained]


def test_an_event_is_recorded_where_it_is_waited_for() -> None:
    launches = planned(only((SPECS / "legal" / "one-warmup-too-many-fixed.yaml").read_text()))

    waited = {event for launch in launches for event in launch.waits}
    assert {launch.event for launch in launches if launch.awaited} == waited
    assert waited
