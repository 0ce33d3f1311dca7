from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.confirm import Answer, Claim
from pipeproof.execution.replayer import set_up
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.execution.streams.running import Pace, confirm, run_legal
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate
from pipeproof.verdict.telling import trace
from tests.execution.moved import moved
from tests.execution.played import claims, models
from tests.execution.streams.flowed import STORAGE, flowed, modelled, only, order, queues, text
from tests.interpreter.mutations import mutants
from tests.semantics import made

if TYPE_CHECKING:
    from pipeproof.execution.confirm import Confirmed
    from pipeproof.semantics.model import Model

RULES = ("PP501", "PP502", "PP503", "PP504", "PP505")
KNOWN = [("1f1b", 3, 3, 1), ("interleaved_zero_bubble", 2, 2, 2)]


def asked(model: Model, claim: Claim) -> Confirmed:
    return confirm(modelled(model), claim, queues)


@pytest.mark.parametrize("name", STORAGE)
def test_a_fault_of_storage_is_seen_in_the_bits_and_its_neighbour_is_clean(name: str) -> None:
    rule = STORAGE[name][0]
    found = [asked(model, claim) for model, claim in claims(text(name, legal=False), rule)]
    model = only(text(name, legal=True))
    unsplit = Unsplit(model.frame.run, 1)

    assert {each.answer for each in found} == {Answer.CONFIRMED}
    for pace in (Pace.SENDS, Pace.RECEIVES, Pace.ANY):
        for seed in (0, 1):
            ended = flowed(model, queues(seed), unsplit=unsplit, seed=seed, pace=pace)
            assert not list(ended.differing())


@pytest.mark.parametrize("shape", KNOWN, ids=lambda shape: shape[0])
def test_known_schedules_are_the_unsplit_model(shape: tuple[str, int, int, int]) -> None:
    name, ranks, microbatches, stages = shape
    known = generate(name, ranks=ranks, microbatches=microbatches, stages_per_rank=stages)
    model = next(models(Document(name, known, OnePlace())))

    for seed in (0, 4):
        ran = run_legal(modelled(model), queues(seed), seed=seed)
        assert not ran.wrong
        assert ran.compared > microbatches * ranks


@pytest.mark.parametrize("rule", RULES)
def test_mutants_are_confirmed_and_their_originals_run_clean(rule: str) -> None:
    for mutant in mutants(rule, 1):
        found = {asked(model, claim).answer for model, claim in claims(mutant.text, rule)}
        original = only(mutant.original)

        assert Answer.NOT_REPRODUCED not in found
        if found == {Answer.CONFIRMED}:
            assert not list(flowed(original, queues(1), pace=Pace.ANY).differing())


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_of_fifty_mutants_all_that_can_be_run_are_confirmed(rule: str) -> None:
    confirmed = 0
    for mutant in mutants(rule, 100):
        for model, claim in claims(mutant.text, rule):
            found = asked(model, claim)
            outside = found.why.startswith("streams do not show")
            assert outside or found.answer is Answer.CONFIRMED, (found, mutant.text)
            confirmed += not outside
        if confirmed >= 50:
            break

    assert confirmed >= 50


@pytest.mark.parametrize("rule", ["PP202", "PP401", "PP403", "PP405"])
def test_what_is_read_too_early_or_crossed_is_seen(rule: str) -> None:
    (written,) = moved(rule, 1)

    assert asked(*next(claims(written, rule))).answer is Answer.CONFIRMED


def test_a_crossed_message_that_nobody_reads_is_seen_where_it_is_left() -> None:
    crossed = {"fragment": True, "stages": 2, "microbatches": 3, "transport": "buffered"}
    sends = "SEND F0.0 to=1; SEND F0.1 to=1"
    ((model, claim), *_) = claims(
        made.text(sends, "RECV F0.1 from=0; RECV F0.0 from=0", **crossed), "PP202"
    )
    legal = only(made.text(sends, "RECV F0.0 from=0; RECV F0.1 from=0", **crossed))

    found, other = asked(model, claim), asked(legal, claim)
    assert found.answer is Answer.CONFIRMED
    assert "from=0 leaves the numbers of F0." in found.why
    assert other.answer is Answer.NOT_REPRODUCED


@pytest.mark.parametrize("rule", ["PP202", "PP502", "PP505"])
def test_what_is_claimed_of_a_legal_schedule_is_not_reproduced(rule: str) -> None:
    model = only(text("written while it is sent", legal=True))
    places = tuple((rank, position) for rank in (0, 1) for position in range(5))

    found = asked(model, Claim(rule, places, (0, 1)))
    assert found.answer is Answer.NOT_REPRODUCED
    assert found.why == "no read at its places finds other numbers"


def test_other_numbers_elsewhere_are_not_what_is_claimed() -> None:
    model = only(
        made.text(
            "LOAD X.0 buf=s; 0F0 in=s; LOAD X.1 buf=t; LOAD X.2 buf=t; 0F1 in=t",
            fragment=True,
            microbatches=3,
        )
    )

    elsewhere = asked(model, Claim("PP503", ((0, 0),), (0, 1)))
    there = asked(model, Claim("PP503", ((0, 3),), (0, 1)))
    assert elsewhere.answer is Answer.NOT_REPRODUCED
    assert there.answer is Answer.CONFIRMED
    assert there.why == "0F1 in=t reads NaN for X.1 in t, on free streams, seed 0"


def test_what_no_memory_shows_is_not_observable() -> None:
    model = only(text("written while it is sent", legal=True))

    assert asked(model, Claim("PP301", ((0, 0),), (0, 1))).answer is Answer.NOT_OBSERVABLE


def test_a_trace_in_words_is_followed_and_one_of_another_schedule_is_not() -> None:
    ((model, claim),) = claims(text("read before the receive is complete", legal=False), "PP501")
    words = tuple(trace(model, [each for each in claim.trace if isinstance(each, int)]))
    other = tuple(step._replace(position=7) for step in words)

    assert asked(model, claim._replace(trace=words)).answer is Answer.CONFIRMED
    assert asked(model, claim._replace(trace=other)).answer is Answer.NOT_REPRODUCED


def test_a_run_that_is_stuck_says_so() -> None:
    model = only(made.text("SEND F0.0 to=1", "0F1", fragment=True, microbatches=2))

    ran = run_legal(modelled(model), queues(0))
    assert ran.wrong.endswith("events do not happen")


@pytest.mark.parametrize("name", ["overwritten unread", "written while it is sent"])
def test_a_forced_order_shows_what_a_run_event_by_event_shows(name: str) -> None:
    for legal in (False, True):
        model = only(text(name, legal=legal))
        frame = model.frame
        for seed in range(3):
            forced = flowed(model, queues(0), seed=seed, forced=True)
            played = set_up(frame.run, frame.transport.match)
            played.play(order(model, seed))

            assert bool(list(forced.differing())) == (played.differing is not None)
