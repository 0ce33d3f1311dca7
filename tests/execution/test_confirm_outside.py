"""What no witness shows is told with its reason, and never ends in an internal error."""

from __future__ import annotations

import pytest

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.confirm import Answer, Claim, confirm
from tests.execution.played import answers, document, models, ran
from tests.semantics import made

PIPELINES = {"stages": 4, "placement": [0, 0, 0, 0], "pipelines": [["0", "1"], ["2", "3"]]}


def test_a_message_of_nothing_that_nobody_receives_is_told() -> None:
    text = made.text("SEND F0.7 to=1; 0F0; 0B0", "", stages=1, transport="buffered")

    found = {claim.rule: each for claim, each in answers(text)}

    assert found["PP303"].answer is Answer.CONFIRMED
    assert "left in its channel: nothing instead of a receive on rank 1" in found["PP303"].why
    assert found["PP405"].answer is Answer.CONFIRMED


@pytest.mark.parametrize(
    ("program", "other"),
    [
        ("0F0; 1F0; 2F0; 3F0; 3B0; 2B0; 1B0; 0B0; 2F1; 3F1; 3B1; 2B1", ()),
        ("0F0; 1F0; 1B0; 0B0; 2F1; 3F1; 3B1; 2B1; 2W0", ()),
        (
            "0F0; 1F0; 1B0; 0B0; 2F1; 3F1; 3B1; 2B1; SEND F3.0 to=1",
            ("RECV F3.0 from=0",),
        ),
        ("0F0; 1F0; 1B0; 0B0; 2F1; 3F1; 3B1; 2B1; SEND F9.0 to=1", ("RECV F9.0 from=0",)),
    ],
)
def test_a_microbatch_in_a_stage_that_it_does_not_run_through_is_not_run(
    program: str, other: tuple[str, ...]
) -> None:
    text = made.text(program, *other, **PIPELINES, microbatches=2, transport="buffered")

    found = [each for _, each in answers(text)]

    assert found
    assert {each.answer for each in found} == {Answer.NOT_OBSERVABLE}
    assert any("no unsplit model has stage" in each.why for each in found)
    with pytest.raises(UnsupportedFeatureError, match="no unsplit model has stage"):
        ran(document(text))


def test_segments_in_a_stage_that_they_do_not_run_through_are_not_run() -> None:
    rest = "2F2; 2F3; 3F2; 3F3; 3B3; 3B2; 2B3; 2B2"
    keys = {**PIPELINES, "microbatches": 2, "segments": 2, "transport": "buffered"}
    text = made.text(f"0F0; 0F1; 1F0; 1F1; 2F0; 1B1; 1B0; 0B1; 0B0; {rest}", **keys)

    with pytest.raises(UnsupportedFeatureError, match="no unsplit model has stage 2"):
        ran(document(text))


def test_a_fragment_of_messages_only_is_run_on_the_stages_that_they_name() -> None:
    keys = {**PIPELINES, "fragment": True, "microbatches": 2, "transport": "buffered"}

    (found,) = ran(document(made.text("SEND F2.0 to=1", "RECV F2.0 from=0", **keys)))

    assert not found.wrong
    assert found.compared


def test_what_the_next_step_receives_is_of_the_pipeline_of_this_one() -> None:
    ranks = "2F1; SEND F2.1 to=1; SEND F2.1 to=1", "RECV F2.1 from=0"
    keys = {**PIPELINES, "fragment": True, "microbatches": 2, "transport": "buffered"}

    (found,) = [each for _, each in answers(made.text(*ranks, **keys), "PP303")]

    assert found.answer is Answer.CONFIRMED
    assert "F2.1 instead of F2.3 of the next step" in found.why


FREED = "FREE s; {}0F0 aux=s; 0B0"
STUCK = "RECV v from=1; "


@pytest.mark.parametrize(
    ("between", "answer", "why"),
    [
        ("", Answer.CONFIRMED, "the storage is free: nothing instead of A.0"),
        (STUCK, Answer.NOT_OBSERVABLE, "a deadlock keeps the read from being reached"),
    ],
)
def test_a_read_behind_a_deadlock_does_not_show_what_was_freed(
    between: str, answer: Answer, why: str
) -> None:
    text = made.text(FREED.format(between), "SIGNAL to=0", transport="buffered")

    ((_, found),) = answers(text, "PP504")

    assert found.answer is answer
    assert why in found.why


@pytest.mark.parametrize(
    "program",
    [
        f"0F0 aux=s; FREE s; {STUCK}0B0",
        f"FREE s; WRITE s A.0; {STUCK}0F0 aux=s; 0B0",
        f"FREE s; 0F0; {STUCK}0B0",
    ],
)
def test_behind_a_deadlock_a_wrong_claim_of_a_free_is_not_reproduced(program: str) -> None:
    text = made.text(program, "SIGNAL to=0", transport="buffered")
    (model,) = models(document(text))
    place = next(at for at, each in enumerate(program.split("; ")) if each == "FREE s")

    found = confirm(
        model.frame.run,
        model.frame.transport.match,
        model.happens_before,
        Claim("PP504", ((0, place),), ()),
    )

    assert found == (Answer.NOT_REPRODUCED, "nothing illegal was met at its places")


RECEIVED = "RECV v from=0 buf=s h=x; "


@pytest.mark.parametrize(
    ("program", "rule"),
    [(f"{RECEIVED}WRITE s w; WAIT x", "PP502"), (f"{RECEIVED}FREE s; WAIT x", "PP504")],
)
def test_a_storage_in_flight_that_nobody_reads_shows_in_no_number(program: str, rule: str) -> None:
    keys = {"fragment": True, "transport": "buffered"}
    legal = made.text("SEND v to=1", program.replace("; WAIT x", ""), **keys)
    legal = legal.replace("h=x; ", "h=x; WAIT x; ")

    (found,) = {one for _, one in answers(made.text("SEND v to=1", program, **keys), rule)}
    (model,) = models(document(legal))
    claim = Claim(rule, ((1, 2),), ())
    match = model.frame.transport.match

    assert found.answer is Answer.NOT_OBSERVABLE
    assert "a transfer of the storage is under way" in found.why
    wrong = confirm(model.frame.run, match, model.happens_before, claim)
    assert wrong.answer is Answer.NOT_REPRODUCED


def test_the_first_to_take_a_storage_loses_what_stood_there_from_the_start() -> None:
    programs = "WRITE s v; WRITE s w; SEND F0.1 to=1 buf=s", "RECV F0.1 from=0"
    keys = {"fragment": True, "stages": 2, "microbatches": 2, "transport": "buffered"}
    legal = made.text("SEND F0.1 to=1 buf=s; WRITE s v; WRITE s w", programs[1], **keys)
    (model,) = models(document(legal))
    match = model.frame.transport.match

    ((_, found),) = answers(made.text(*programs, **keys), "PP503")
    wrong = confirm(
        model.frame.run, match, model.happens_before, Claim("PP503", ((0, 1), (0, 2)), ())
    )

    assert found.answer is Answer.CONFIRMED
    assert wrong.answer is Answer.NOT_REPRODUCED
