import pytest

from pipeproof.errors import UsageError
from pipeproof.schedules import generate, interleaved_1f1b


def program(rank: int, *, ranks: int, microbatches: int, stages_per_rank: int | None = None) -> str:
    operations = generate(
        interleaved_1f1b.NAME,
        ranks=ranks,
        microbatches=microbatches,
        stages_per_rank=stages_per_rank,
    ).operations
    return " ".join(operations.program(rank))


def test_a_rank_visits_its_stages_in_rounds() -> None:
    shape = {"ranks": 2, "microbatches": 4, "stages_per_rank": 2}

    assert program(0, **shape) == (
        "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3"
    )
    assert program(1, **shape) == (
        "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3"
    )


def test_a_round_may_be_longer_than_the_ranks() -> None:
    assert program(1, ranks=2, microbatches=3, stages_per_rank=2) == (
        "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1B0 1B1 1B2"
    )


def test_one_stage_a_rank_warms_up_twice_for_each_hop() -> None:
    assert program(0, ranks=2, microbatches=4) == "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3"


def test_microbatches_that_fill_no_whole_rounds_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        generate("interleaved_1f1b", ranks=2, microbatches=5)

    assert str(caught.value) == (
        "interleaved_1f1b:1:1: 5 microbatches on 2 ranks; write a multiple of the 2 rounds"
    )
