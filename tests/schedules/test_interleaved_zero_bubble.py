import pytest

from pipeproof.errors import UsageError
from pipeproof.schedules import generate, interleaved_zero_bubble


def program(rank: int, *, ranks: int, microbatches: int, stages_per_rank: int | None = None) -> str:
    operations = generate(
        interleaved_zero_bubble.NAME,
        ranks=ranks,
        microbatches=microbatches,
        stages_per_rank=stages_per_rank,
    ).operations
    return " ".join(operations.program(rank))


def test_weight_gradients_lag_by_the_rank() -> None:
    shape = {"ranks": 2, "microbatches": 2, "stages_per_rank": 2}

    assert program(0, **shape) == ("0F0 0F1 2F0 2F1 2I0 2W0 2I1 2W1 0I0 0W0 0I1 0W1")
    assert program(1, **shape) == ("1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1")


def test_a_rank_that_lags_by_more_than_there_is_ends_with_all_weight_gradients() -> None:
    assert program(3, ranks=4, microbatches=2) == "3F0 3I0 3F1 3I1 3W0 3W1"


def test_microbatches_that_fill_no_whole_rounds_are_refused() -> None:
    with pytest.raises(UsageError, match="7 microbatches on 3 ranks; write a multiple of the 2"):
        generate("interleaved_zero_bubble", ranks=3, microbatches=7)
