from itertools import permutations

import numpy as np
import pytest

from pipeproof.errors import ReplayMismatchError
from pipeproof.execution.orders import Events, Style, extended
from tests.execution.played import document, models, order
from tests.semantics import made

CHAIN = made.text("LOAD X.0; 0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0", fragment=True)


def test_every_event_comes_after_what_it_waits_for() -> None:
    for model in models(document(CHAIN)):
        for seed in range(6):
            found = order(model, seed)
            moment = {event: n for n, event in enumerate(found)}
            graph = model.happens_before
            real = (graph.before < model.events) & (graph.after < model.events)
            assert len(found) == model.events
            pairs = zip(graph.before[real].tolist(), graph.after[real].tolist(), strict=True)
            assert all(moment[before] < moment[after] for before, after in pairs)


def test_seeds_give_every_order_of_two_ranks() -> None:
    model = made.model("LOAD X.0", "LOAD X.0", under="buffered", stages=2)
    events = Events(model.events, model.frame.first_transfer)

    found = {extended(model.happens_before, events, seed=seed) for seed in range(2000)}

    first, second = (0, 1, 4), (2, 3, 5)
    wanted = {
        each
        for each in permutations((*first, *second))
        if [e for e in each if e in first] == [*first]
        and [e for e in each if e in second] == [*second]
    }
    assert found == wanted


def test_messages_move_last_or_first_by_style() -> None:
    programs = ("SEND F0.0 to=1 h=a; LOAD X.0; WAIT a", "RECV F0.0 from=0 h=a; LOAD X.0; WAIT a")
    model = made.model(*programs, under="buffered", stages=2, fragment=True)
    events = Events(model.events, model.frame.first_transfer)

    late = extended(model.happens_before, events, style=Style.MESSAGES_LATE)
    early = extended(model.happens_before, events, style=Style.MESSAGES_EARLY)

    drained = model.frame.first_transfer
    assert late.index(drained) > late.index(3)
    assert early.index(drained) < early.index(3)


def test_a_send_waits_for_credit() -> None:
    programs = ("SEND F0.0 to=1; SEND F0.1 to=1", "RECV F0.0 from=0; RECV F0.1 from=0")
    model = made.model(*programs, under="buffered-1", stages=2, microbatches=2, fragment=True)
    drained = model.frame.drained(np.arange(2))
    arrived = model.frame.arrived(np.arange(2))

    for seed in range(20):
        found = order(model, seed)
        assert found.index(arrived[0]) < found.index(drained[1])


def test_an_extension_goes_on_from_what_has_begun_and_ends_where_nothing_can() -> None:
    model = made.model(*made.CROSSED, under="rendezvous", stages=2, fragment=True)
    events = Events(model.events, model.frame.first_transfer)

    found = extended(model.happens_before, events, (0,))

    assert found == (4,)


@pytest.mark.parametrize("begun", [(1,), (0, 0), (10,), (99,), (-1,)])
def test_what_cannot_have_begun_so_is_refused(begun: tuple[int, ...]) -> None:
    model = made.model(*made.CROSSED, under="rendezvous", stages=2, fragment=True)
    events = Events(model.events, model.frame.first_transfer)

    with pytest.raises(ReplayMismatchError):
        extended(model.happens_before, events, begun)
