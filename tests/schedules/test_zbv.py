from pipeproof.schedules import generate, zbv


def program(rank: int, *, ranks: int, microbatches: int) -> str:
    operations = generate(zbv.NAME, ranks=ranks, microbatches=microbatches).operations
    return " ".join(operations.program(rank))


def test_two_stages_share_a_rank_in_a_v() -> None:
    shape = {"ranks": 2, "microbatches": 4}

    assert program(0, **shape) == (
        "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 "
        "0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3"
    )
    assert program(1, **shape) == (
        "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 "
        "1I2 2I3 1I3 1W2 2W3 1W3"
    )
    assert generate("zbv", ranks=2, microbatches=4).placement == (0, 1, 1, 0)


def test_microbatches_that_do_not_exist_are_left_out() -> None:
    shape = {"ranks": 2, "microbatches": 1}

    assert program(0, **shape) == "0F0 3F0 3I0 3W0 0I0 0W0"
    assert program(1, **shape) == "1F0 2F0 2I0 2W0 1I0 1W0"
