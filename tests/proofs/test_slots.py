"""How many slots are enough: every count that is safe is told, and no other."""

import pytest

from pipeproof.api import judge_text
from pipeproof.ir.transport import NAMED
from pipeproof.proofs.slots import SafeSlots, safe_slots
from pipeproof.verdict.verdict import Outcome
from tests.semantics.made import schedule, text

ONCE_AROUND = "0F0; 0F1; 0B1; 0F3; 0B3; 0B0; 0F2; 0B2"
AHEAD = "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0F2; 0SEND_F2"
TAKEN = "1RECV_F0; 1F0; 1RECV_F1; 1F1; 1RECV_F2; 1F2"


def found(*programs: str, **keys: object) -> dict[str, SafeSlots]:
    under = str(keys.pop("under", "rendezvous"))
    safe = safe_slots(schedule(*programs, fragment=True, **keys), (NAMED[under],))
    return {each.pool: each for each in safe}


def test_more_slots_can_be_worse_and_every_safe_count_is_told() -> None:
    stash = found(ONCE_AROUND, microbatches=4)["stash"]

    assert str(stash) == "safe with 2, or from 4 on"
    assert (stash.safe, stash.largest, stash.rest) == ((2,), 4, True)


@pytest.mark.parametrize("slots", range(1, 6))
def test_what_is_said_of_a_count_is_what_judging_it_finds(slots: int) -> None:
    keys: dict[str, object] = {"microbatches": 4, "storage": {"stash": {"slots": slots}}}
    verdict = judge_text(text(ONCE_AROUND, transport="rendezvous", **keys), "made")
    stash = found(ONCE_AROUND, **keys)["stash"]

    safe = slots in stash.safe or (slots >= stash.largest and stash.rest)
    assert safe == (verdict.outcome is Outcome.PROVED)
    assert stash.described == slots


def test_a_stash_of_1f1b_needs_as_many_slots_as_forwards_are_live() -> None:
    program = "0F0; 0F1; 0B0; 0F2; 0B1; 0F3; 0B2; 0B3"

    assert str(found(program, microbatches=4)["stash"]) == "safe from 2 on"
    assert str(found("0F0; 0B0; 0F1; 0B1", microbatches=2)["stash"]) == (
        "safe with any number of slots"
    )


def test_a_send_slot_is_reused_at_once_where_the_send_blocks() -> None:
    assert str(found(AHEAD, TAKEN, microbatches=3)["send"]) == "safe with any number of slots"


def test_a_send_that_nobody_waits_for_keeps_its_slot() -> None:
    assert str(found(AHEAD, TAKEN, microbatches=3, under="gloo")["send"]) == "safe from 3 on"


def test_every_transport_counts() -> None:
    both = (NAMED["rendezvous"], NAMED["gloo"])
    safe = safe_slots(schedule(AHEAD, TAKEN, microbatches=3), both)

    assert {each.pool: str(each) for each in safe}["send"] == "safe from 3 on"


def test_a_guard_turns_the_question_into_deadlock() -> None:
    guard = {"stash": {"slots": 2, "guard": "wait"}}
    stash = found("0F0; 0F1; 0F2; 0B0; 0B1; 0B2", microbatches=3, storage=guard)["stash"]

    assert str(stash) == "safe from 3 on"
    assert (stash.guard, stash.described) == ("wait", 2)


def test_a_guarded_send_slot_waits_for_its_peer_and_is_safe() -> None:
    guard = {"send": {"slots": 1, "guard": "wait"}}
    send = found(AHEAD, TAKEN, microbatches=3, under="gloo", storage=guard)["send"]

    assert str(send) == "safe with any number of slots"


def test_slots_by_use_are_counted_by_use() -> None:
    by_use = {"stash": {"slots": 1, "slot": "use mod slots"}}
    stash = found("0F5; 0F3; 0B5; 0F1; 0B3; 0B1", microbatches=6, storage=by_use)["stash"]

    assert str(stash) == "safe from 2 on"


def test_a_pool_into_which_nothing_goes_is_not_told() -> None:
    assert found("0F0", stages=1).keys() == {"stash"}


def test_slots_that_are_handed_out_at_run_time_have_no_count() -> None:
    pool = {"stash": {"slots": 1, "take": "any"}}

    assert "stash" not in found("0F0; 0B0", storage=pool)


@pytest.mark.parametrize(
    ("safe", "largest", "said"),
    [
        ((), 3, "safe with no number of slots"),
        ((2,), 3, "safe with 2 only"),
        ((1, 2, 3), 3, "safe with any number of slots"),
        ((1, 3, 5), 5, "safe with 1 or 3, or from 5 on"),
        ((1, 3, 4, 5), 5, "safe with 1, or from 3 on"),
    ],
)
def test_counts_are_told_in_words(safe: tuple[int, ...], largest: int, said: str) -> None:
    below, rest = tuple(each for each in safe if each < largest), largest in safe
    slots = SafeSlots("stash", "microbatch mod slots", "none", below, largest, rest, None)

    assert str(slots) == said
