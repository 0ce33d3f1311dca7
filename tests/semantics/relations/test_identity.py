"""What there must be, where, and of what that exists."""

import pytest

from pipeproof.semantics.relations.identity import misplaced, missing, unknown
from tests.semantics.made import frame, places


def lost(*programs: str, **keys: object) -> list[str]:
    return [finding.facts["op"] for finding in missing(frame(*programs, **keys)).found]


def strange(*programs: str, **keys: object) -> list[str]:
    made = frame(*programs, **keys)
    return places(made, unknown(made))


def test_a_whole_schedule_lacks_nothing() -> None:
    made = frame("0F0; 0B0", "1F0; 1I0; 1W0")

    assert (missing(made).instances, lost("0F0; 0B0", "1F0; 1I0; 1W0")) == (4, [])


def test_a_forward_of_every_stage_and_microbatch_is_asked_for() -> None:
    assert lost("0F0; 0F1", "1F1", microbatches=2) == ["1F0"]


def test_once_there_is_a_backward_all_are_asked_for() -> None:
    assert lost("0F0; 0B0", "1F0") == ["1B0 or 1I0"]


@pytest.mark.parametrize(("program", "op"), [("0F0; 0I0", "0W0"), ("0F0; 0W0", "0I0")])
def test_half_a_backward_lacks_the_other_half(program: str, op: str) -> None:
    assert lost(program) == [op]


def test_without_any_backward_none_is_asked_for() -> None:
    assert lost("0F0", "1F0; 1STEP") == []


def test_totals_that_balance_prove_nothing() -> None:
    assert lost("0F0; 0F0", microbatches=2) == ["0F1"]


def test_a_step_of_some_stages_lacks_the_others() -> None:
    made = frame("0F0; 0B0; 0STEP", "1F0; 1B0; 2F0; 2B0; 2SKIP")

    assert [finding.facts["op"] for finding in missing(made).found] == ["1STEP"]
    assert places(made, missing(made)) == [""]


def test_a_step_of_some_stages_in_one_turn_lacks_the_others_of_that_turn() -> None:
    programs = ("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", "1F0; 1B0; 1STEP; 1F1; 1B1")

    assert lost(*programs, steps=2) == ["1STEP"]


def test_nothing_is_missing_from_a_fragment() -> None:
    assert missing(frame("0F0", fragment=True)).instances == 0


def test_a_microbatch_runs_through_one_pipeline() -> None:
    keys: dict[str, object] = {"microbatches": 2, "stages": 4, "pipelines": [[0, 1], [3, 2]]}

    assert lost("0F0; 1F0; 3F1; 2F1", **keys) == []
    assert lost("0F0; 1F0; 3F1", **keys) == ["2F1"]
    assert lost("1B0; 0F0; 3F1; 2F1", **keys) == ["1F0", "0B0 or 0I0", "2B1 or 2I1", "3B1 or 3I1"]


def test_a_microbatch_that_stands_nowhere_is_missing_from_the_first_pipeline() -> None:
    keys: dict[str, object] = {"microbatches": 2, "stages": 4, "pipelines": [[0, 1], [3, 2]]}

    assert lost("0F0; 1F0", **keys) == ["0F1", "1F1"]


def test_more_than_a_thousand_are_counted_and_not_named() -> None:
    found = lost("0F0", microbatches=1005)

    assert (len(found), found[0], found[-1]) == (1001, "0F1", "and 4 more F")


@pytest.mark.parametrize(
    "program",
    [
        "2F0",
        "0F3",
        "9UNSHARD",
        "1SEND_F0",
        "0RECV_F0",
        "0SEND_B0",
        "1RECV_B0",
        "SEND v to=2",
        "RECV v from=7",
        "SIGNAL to=2",
        "AWAIT from=2",
        "SEND F2.0 to=1",
        "SEND F0.3 to=1",
        "LOAD X.3",
        "COLL a ranks=0,2",
        "0NORM ranks=2",
        "0TIE ranks=5",
    ],
)
def test_a_name_of_something_that_does_not_exist_is_told(program: str) -> None:
    assert strange(f"0F0; {program}", "", stages=2, microbatches=3) == ["r0.1"]


@pytest.mark.parametrize(
    "program",
    ["1F2", "0SEND_F0", "SEND v to=1", "RECV v from=any", "SEND L.2 to=1", "COLL a ranks=0,1"],
)
def test_what_exists_is_not_told(program: str) -> None:
    assert strange(program, "", stages=2, microbatches=3) == []


def test_ids_run_on_over_steps() -> None:
    assert strange("0F3", microbatches=2, steps=2) == []
    assert strange("0F4", microbatches=2, steps=2) == ["r0.0"]


def test_what_is_judged_is_staged_valued_or_has_another_end() -> None:
    assert unknown(frame("0F0; SEND v to=1; SIGNAL to=1; FREE b; WRITE b v", "")).instances == 3


def test_an_operation_away_from_its_stage_is_misplaced() -> None:
    made = frame("0F0; 1F0", "0B0; 1B0; 1STEP", placement=[0, 1])
    found = misplaced(made)

    assert places(made, found) == ["r0.1", "r1.0"]
    assert [each.facts["why"] for each in found.found] == [
        *("stage 1 lives on rank 1", "stage 0 lives on rank 0"),
    ]


def test_a_short_message_belongs_to_its_stage_and_a_long_one_to_nobody() -> None:
    made = frame("0F0", "0SEND_F0; SEND F0.0 to=0", placement=[0, 1], stages=2)

    assert places(made, misplaced(made)) == ["r1.0"]


def test_a_message_between_two_stages_of_one_rank_is_misplaced() -> None:
    made = frame("0F0; SEND F0.0 to=0; RECV F0.0 from=0; 1F0; SEND v to=0; RECV v from=0")
    found = misplaced(made)

    assert places(made, found) == ["r0.1", "r0.2"]
    assert found.found[0].facts == {
        "op": "SEND F0.0 to=0",
        "why": "its two stages live on one rank",
    }


def test_stages_that_do_not_exist_are_not_misplaced() -> None:
    assert misplaced(frame("9F0", stages=1)).instances == 0


def test_what_read_withdrawn_weights_is_missing_until_it_stands_again() -> None:
    ahead = "0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; {}0B1; 0STEP"

    assert lost(ahead.format(""), steps=2) == ["0F1"]
    assert lost(ahead.format("0F1; "), steps=2) == []
