"""What is minimised breaks the same rule first, and nothing of it can go."""

from pathlib import Path

import pytest

from pipeproof.campaign.judged import judged, read
from pipeproof.campaign.minimise import minimise, perform, smaller_shapes
from pipeproof.ir.canonical import canonical
from tests.campaign.padded import ILLEGAL, illegal, padded, size

ROOT = Path(__file__).parents[2]
EVERY = sorted(path.stem for path in ILLEGAL.glob("*.yaml"))
# Messages, storage, gradients.
SOME = ("swapped-receive", "slot-guarded-by-itself", "parts-do-not-add-up")
DEFERRED = """\
pipeproof: 1
microbatches: 4
profile: torch-runtime
schedule: {name: zbv, ranks: 3, stages_per_rank: 2, lowering: torch-deferred}
"""


def check_smaller(name: str) -> None:
    original = illegal(name)
    larger = padded(original) or original
    found = minimise(larger)

    assert found is not None
    assert found.complete
    assert all(
        now <= before for now, before in zip(size(found.document), size(original), strict=True)
    )
    first = next(each for each in judged(larger).under if each.first)
    again = judged(read(found.text)).under
    assert [(each.transport, each.first) for each in again] == [(first.transport, first.first)]
    assert set(again[0].rules) <= set(first.rules)


@pytest.mark.parametrize("name", SOME)
def test_it_is_no_larger_than_what_was_reduced_by_hand(name: str) -> None:
    check_smaller(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_illegal_schedule_is_reduced_as_far_as_by_hand(name: str) -> None:
    check_smaller(name)


@pytest.mark.parametrize("name", ["latest-instead-of-stash"])
def test_to_minimise_again_changes_nothing(name: str) -> None:
    once = minimise(illegal(name))
    assert once is not None
    again = minimise(once.document)

    assert again is not None
    assert again.text == once.text


def test_a_schedule_of_two_ranks_that_wait_for_each_other_is_four_instructions() -> None:
    found = minimise(illegal("one-warmup-too-many"))

    assert found is not None
    programs = [list(found.document.schedule.operations.program(rank)) for rank in (0, 1)]
    assert programs == [["0SEND_F1", "0RECV_B0"], ["1SEND_B0", "1RECV_F1"]]


CHOSEN = """\
pipeproof: 1
stages: 2
microbatches: 1
fragment: true
transport: rendezvous
ranks:
  - CHOOSE v a|b; 0F0; SEND F0.0 to=1 if=v:a; RECV B1.0 from=1 if=v:a
  - 1F0 if=v:b; SEND B1.0 to=0 if=v:a; RECV F0.0 from=0 if=v:a; 1F0 if=v:a; 1B0
"""
RECOVERED = (ROOT / "specs" / "recovery" / "late-operation-not-raised.yaml").read_text(
    encoding="utf-8"
)
READY = (ROOT / "specs" / "ready" / "limit-starves.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [CHOSEN, RECOVERED, READY], ids=["choice", "fault", "ready"])
def test_choices_faults_and_ready_ranks_stay_where_they_are_needed(text: str) -> None:
    document = read(text)
    found = minimise(document)
    first = next(each for each in judged(document).under if each.first)

    assert found is not None
    assert found.complete
    assert judged(read(found.text)).first(found.transport) == first.first
    assert size(found.document) < size(document)
    assert found.document.schedule.described.keys() <= document.schedule.described.keys()


def test_a_middle_rank_is_taken_out_and_its_neighbours_send_to_each_other() -> None:
    chain = """\
pipeproof: 1
stages: 3
microbatches: 2
placement: [0, 1, 2]
fragment: true
transport: buffered
ranks:
  - 0F0; SEND F0.0 to=1; 0F1; SEND F0.1 to=1
  - RECV F0.0 from=0; 1F0; SEND F1.0 to=2; RECV F0.1 from=0; 1F1; SEND F1.1 to=2
  - RECV F1.1 from=1; 2F1; RECV F1.0 from=1; 2F0
"""
    found = minimise(read(chain))

    assert found is not None
    assert found.rule == "PP202"
    assert list(found.document.schedule.operations.program(1)) == [
        "RECV F0.1 from=0",
        "RECV F0.0 from=0",
    ]
    assert size(found.document)[0] == 2


def test_a_known_schedule_is_tried_at_smaller_sizes_first() -> None:
    document = read(DEFERRED)
    shapes = [
        (each.schedule.ranks, each.schedule.microbatches) for each in smaller_shapes(document)
    ]
    found = minimise(document, transports=["gloo"])

    assert shapes == sorted(shapes)
    assert shapes[-1] < (3, 4)
    assert found is not None
    assert (found.rule, found.transport, size(found.document)) == ("PP202", "gloo", (2, 2, 4))


def test_what_is_no_known_schedule_has_no_smaller_sizes() -> None:
    assert not list(smaller_shapes(illegal("crossed-sends")))


def test_where_no_judgement_is_left_the_smallest_so_far_is_returned() -> None:
    larger = padded(illegal("swapped-receive"))
    assert larger is not None
    found = minimise(larger, budget=9)

    assert found is not None
    assert not found.complete
    assert found.judgements <= 9
    assert size(found.document) < size(larger)
    assert judged(read(found.text)).first(found.transport) == found.rule


def test_the_original_is_judged_as_it_is_written_whatever_the_budget() -> None:
    found = minimise(illegal("crossed-sends"), budget=0)

    assert found is not None
    assert not found.complete
    assert judged(read(found.text)).first(found.transport) == "PP301"


def test_a_rule_that_is_not_broken_first_is_not_found() -> None:
    assert minimise(illegal("crossed-sends"), "PP202") is None
    assert minimise(read("pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n")) is None


def test_the_transport_is_the_first_under_which_the_rule_is_broken_first() -> None:
    found = minimise(illegal("crossed-sends"), "PP301", ["buffered", "rendezvous-rank"])

    assert found is not None
    assert [each.name for each in found.document.schedule.transports] == ["rendezvous-rank"]


def test_the_original_stays_as_it_is() -> None:
    document = illegal("two-receives-one-slot")
    before = canonical(document.schedule)
    minimise(document)

    assert canonical(document.schedule) == before


def test_a_task_tells_text_and_size() -> None:
    text = (ILLEGAL / "crossed-sends.yaml").read_text(encoding="utf-8")
    answer = perform({"text": text, "rule": "PP301"})

    assert {key: answer[key] for key in ("found", "rule", "ranks", "instructions", "complete")} == {
        "found": 1,
        "rule": "PP301",
        "ranks": 2,
        "instructions": 4,
        "complete": 1,
    }
    assert judged(read(str(answer["text"]))).verdict == "refuted"
    assert perform({"text": text, "rule": "PP404"}) == {"found": 0}
