"""Times are read exactly, in ticks as few as can be."""

import pytest

from pipeproof.ir.costs import costs_of, read_time, time_text
from tests.semantics.made import schedule


def test_what_a_file_leaves_out_has_its_default() -> None:
    costs = costs_of(schedule("0F0"))

    assert costs.unit == 1
    assert {kind: each[0] for kind, each in costs.ticks.items()} == {
        "F": 1,
        "B": 2,
        "I": 1,
        "W": 1,
        "R": 1,
        "L": 0,
        "comm": 0,
    }
    assert costs.uniform


def test_ticks_are_as_large_as_they_can_be() -> None:
    costs = costs_of(schedule("0F0", "1F0", costs={"F": [0.5, 1.25], "comm": 0.75}))

    assert costs.unit == 4
    assert costs.ticks["F"] == (2, 5)
    assert costs.ticks["B"] == (8, 8)
    assert costs.ticks["comm"] == (3, 3)
    assert not costs.uniform


@pytest.mark.parametrize("text", ["0", "7", "0.5", "12.000000001", "123456789012345.123456789"])
def test_a_time_is_written_as_it_was_read(text: str) -> None:
    assert time_text(read_time(text), 10**9) == text


def test_a_time_in_ticks_is_written_exactly() -> None:
    assert time_text(7, 4) == "1.75"
    assert time_text(8, 4) == "2"


@pytest.mark.parametrize("text", ["", "-1", "1e3", "1.", ".5", "nan", "1.0000000001"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        read_time(text)
