"""Where stages live."""

import pytest

from pipeproof.lowering.placement import resolve
from tests.semantics.made import schedule


def test_what_the_author_says_holds() -> None:
    made = schedule("0F0", "1F0", stages=2, placement=[1, 0])

    assert resolve(made) == (1, 0)


@pytest.mark.parametrize(("said", "ranks"), [("loop", (0, 1, 0, 1)), ("v", (0, 1, 1, 0))])
def test_loop_and_v_place_four_stages_on_two_ranks(said: str, ranks: tuple[int, ...]) -> None:
    assert resolve(schedule("0F0", "", stages=4, placement=said)) == ranks


def test_programs_place_the_stages_they_name() -> None:
    assert resolve(schedule("0F0; 3F0", "2F0; 1F0")) == (0, 1, 1, 0)


def test_the_rank_that_names_a_stage_most_often_has_it() -> None:
    assert resolve(schedule("0F0; 1B0", "1F0; 1B0", stages=2)) == (0, 1)


def test_of_equals_the_lowest_rank_has_it() -> None:
    assert resolve(schedule("0F0; 1F0", "1F0", stages=2)) == (0, 0)


def test_a_stage_that_no_program_names_lives_in_the_loop() -> None:
    assert resolve(schedule("0F0; 0B0", "", stages=4)) == (0, 1, 0, 1)


def test_long_messages_and_stages_that_do_not_exist_place_nothing() -> None:
    made = schedule("SEND F1.0 to=1; LOAD X.0; 9F0", "RECV F1.0 from=0", stages=2)

    assert resolve(made) == (0, 1)


def test_short_messages_place_their_stage() -> None:
    assert resolve(schedule("1SEND_F0", "0RECV_B0", stages=2)) == (1, 0)
