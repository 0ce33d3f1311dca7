"""The slot-locked runtime: a reader stands at a later slot than its maker, or reads too early."""

from collections import Counter
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.verdict.verdict import FileVerdict

DATA = Path(__file__).parents[1] / "data/torch"
OPTIONS = ReadOptions(profile="torch-multi")


def judged(text: str, *transports: str) -> FileVerdict:
    return api.judge(torch_csv.read(text, "slots.csv", OPTIONS)[0], api.Asked(transports))


@pytest.mark.parametrize(
    ("name", "early"),
    [
        *(("GPipe__r4_s4_m8", 48), ("LoopedBFS__r4_s8_m8", 0)),
        *(("Interleaved1F1B__r4_s8_m8", 0), ("InterleavedZeroBubble__r4_s8_m8", 0)),
    ],
)
def test_slots_are_kept_and_decide(name: str, early: int) -> None:
    """As many reads come too early as were counted in torch's own loop."""
    text = (DATA / f"{name}__compute_only.csv").read_text()
    verdict = judged(text, "nccl-eager", "gloo")

    for transport in verdict.transports:
        count = Counter(violation.rule for violation in transport.violations)
        assert count["PP401"] + count["PP403"] == early
        assert set(count) <= {"PP401", "PP403"}


def test_a_value_that_is_used_at_the_slot_where_it_is_made_is_read_too_early() -> None:
    verdict = judged("0F0,,0B0\n1F0,1B0\n", "gloo")

    assert verdict.first_rule == "PP401"


def test_a_bubble_makes_room_for_the_message() -> None:
    assert judged("0F0,,,0B0\n,1F0,1B0\n", "gloo").verdict == "proved"


def test_calls_of_a_message_on_two_communicators_are_told_where_pairs_have_their_own() -> None:
    """One end sends and receives in a call, the other only receives: another communicator."""
    text = (DATA / "Interleaved1F1B__r4_s8_m8__compute_only.csv").read_text()
    rules = {v.rule for v in judged(text, "nccl-lazy").transports[0].violations}

    assert {"PP202", "PP204", "PP301"} <= rules


def test_the_lowering_is_named() -> None:
    assert judged("0F0,0B0\n", "gloo").lowering == "torch-multi"


def test_two_stages_of_a_rank_send_to_themselves() -> None:
    """This runtime hands nothing over locally; torch dies with a message to its own rank."""
    rules = {v.rule for v in judged("0F0,1F0,1B0,0B0\n", "gloo").transports[0].violations}

    assert "PP104" in rules


def test_a_rank_receives_within_its_own_row_only() -> None:
    verdict = judged("0F0,,,0F1,0B0,0B1\n,1F0\n", "gloo")

    assert "PP201" in {violation.rule for violation in verdict.transports[0].violations}
