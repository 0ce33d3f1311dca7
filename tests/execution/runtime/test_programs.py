from __future__ import annotations

from pipeproof.execution.runtime.programs import ACTIONS, SLOTS, Program, homes_of, of_csv


def test_a_stage_is_where_its_first_action_stands() -> None:
    rows = [["0F0", "(0B0;3F1)OVERLAP_F_B", "2RECV_F0"], ["1F0", " 2F0 ", ""]]

    assert homes_of(rows, 5) == (0, 1, 0, 0, -1)


def test_a_model_has_as_many_stages_as_homes() -> None:
    assert Program(2, 3, (0, 1, 1, 0)).stages == 4


ONLY, COMMS = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "0F0,0SEND_F0\n1RECV_F0,1F0\n"


def test_a_file_with_messages_is_run_as_it_stands() -> None:
    assert not of_csv(ONLY, 2, 2).messages
    assert of_csv(COMMS, 2, 1).messages
    assert of_csv(COMMS, 2, 1) == Program(2, 1, (0, 1), COMMS, messages=True, runner=ACTIONS)


def test_a_stage_that_is_ever_gathered_or_given_back_is_sharded() -> None:
    assert of_csv("0F0,0SEND_F0\n1UNSHARD,1F0,12RESHARD\n", 13, 1).sharded == {1, 12}
    assert not of_csv(COMMS, 2, 1).sharded


def test_a_profile_says_what_runs_a_file() -> None:
    gpipe = ONLY.replace("1F0,1B0,1F1,1B1", "1F0,1F1,1B0,1B1")

    assert of_csv(ONLY, 2, 2, profile="torch-multi").runner == SLOTS
    assert of_csv(ONLY, 2, 2, profile="torch-single").runner == "1F1B"
    assert of_csv(gpipe, 2, 2, profile="torch-single").runner == "GPipe"
    assert of_csv(ONLY, 2, 2, profile="torch-runtime", deferred=True).deferred
