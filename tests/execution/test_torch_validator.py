"""Torch's own checks, asked about orders of computations."""

import pytest

pytest.importorskip("torch")

from pipeproof.execution.torch_validator import torch_says

LEGAL = [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]]


def changed(rank: int, position: int, cell: str) -> list[list[str]]:
    programs = [[*program] for program in LEGAL]
    programs[rank][position] = cell
    return programs


def test_a_legal_order_is_let_through() -> None:
    said = torch_says(LEGAL, (0, 1), 2)

    assert (said.validate, said.simulate) == ("accepts", "accepts")
    assert said.lets_through


def test_a_missing_computation_is_rejected_before_anything_is_simulated() -> None:
    said = torch_says(changed(1, 2, "1F0"), (0, 1), 2)

    assert (said.validate, said.simulate) == ("rejects", "-")
    assert not said.lets_through


def test_a_computation_that_stands_twice_is_let_through() -> None:
    twice = [["0F0", *LEGAL[0]], LEGAL[1]]

    assert torch_says(twice, (0, 1), 2).lets_through


def test_stages_in_a_v_are_known() -> None:
    programs = [["0F0", "3F0", "3B0", "0B0"], ["1F0", "2F0", "2B0", "1B0"]]

    assert torch_says(programs, (0, 1, 1, 0), 1).lets_through
