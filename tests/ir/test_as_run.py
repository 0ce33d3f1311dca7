"""A schedule as run knows its messages, its ranks and its ids."""

import pytest

from pipeproof.ir.as_run import Waits
from pipeproof.ir.operations import read_only
from tests.semantics.made import PASSED_ON, run


def test_messages_are_sends_and_receives_whose_other_end_exists() -> None:
    made = run(
        "0F0; SEND F0.0 to=1; SEND F0.0 to=7; SIGNAL to=1", "RECV F0.0 from=0; 1SEND_F0", stages=2
    )

    assert made.is_message.tolist() == [False, True, False, False, True, False]


def test_a_rank_starts_where_the_one_before_it_ends() -> None:
    made = run("0F0; [SEND F0.0 to=2 | SEND v to=2]", "", "RECV F0.0 from=0")

    assert made.rank_start.tolist() == [0, 2, 2, 3]


def test_ids_run_on_over_steps_and_over_copies() -> None:
    ids = {"microbatches": 3}

    assert run(*PASSED_ON, **ids).microbatches == 3
    assert run(*PASSED_ON, steps=2, **ids).microbatches == 6
    assert run(*PASSED_ON, steps="any", copies=2, **ids).microbatches == 6


def test_what_is_derived_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        run(*PASSED_ON).rank_start[0] = 7


def test_waits_keep_rows_and_moments() -> None:
    waits = Waits(read_only([1]), read_only([4]))

    assert (waits.rows.tolist(), waits.moments.tolist()) == ([1], [4])
