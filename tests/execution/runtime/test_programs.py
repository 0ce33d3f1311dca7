from __future__ import annotations

from pipeproof.execution.runtime.programs import Program, homes_of


def test_a_stage_is_where_its_first_action_stands() -> None:
    rows = [["0F0", "(0B0;3F1)OVERLAP_F_B", "2RECV_F0"], ["1F0", " 2F0 ", ""]]

    assert homes_of(rows, 5) == (0, 1, 0, 0, -1)


def test_a_model_has_as_many_stages_as_homes() -> None:
    assert Program(2, 3, (0, 1, 1, 0)).stages == 4
