from pipeproof.schedules import generate, one_f_one_b


def program(rank: int, *, ranks: int, microbatches: int) -> str:
    operations = generate(one_f_one_b.NAME, ranks=ranks, microbatches=microbatches).operations
    return " ".join(operations.program(rank))


def test_a_rank_warms_up_by_the_ranks_behind_it() -> None:
    shape = {"ranks": 3, "microbatches": 4}

    assert program(0, **shape) == "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3"
    assert program(1, **shape) == "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3"


def test_the_last_rank_counts_its_forwards_from_zero() -> None:
    assert program(2, ranks=3, microbatches=4) == "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3"


def test_fewer_microbatches_than_stages_warm_up_with_all_there_are() -> None:
    shape = {"ranks": 4, "microbatches": 2}

    assert program(0, **shape) == "0F0 0F1 0B0 0B1"
    assert program(2, **shape) == "2F0 2F1 2B0 2B1"
    assert program(3, **shape) == "3F0 3B0 3F1 3B1"


def test_stages_stand_one_on_each_rank() -> None:
    assert generate("1f1b", ranks=3, microbatches=4).placement == (0, 1, 2)
