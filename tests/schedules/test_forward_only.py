from pipeproof.schedules import forward_only, generate


def program(rank: int, *, ranks: int, microbatches: int) -> str:
    operations = generate(forward_only.NAME, ranks=ranks, microbatches=microbatches).operations
    return " ".join(operations.program(rank))


def test_a_rank_runs_its_forwards_and_nothing_else() -> None:
    assert program(0, ranks=2, microbatches=3) == "0F0 0F1 0F2"
    assert program(1, ranks=2, microbatches=3) == "1F0 1F1 1F2"


def test_the_schedule_is_forward_only() -> None:
    assert generate("forward_only", ranks=2, microbatches=1).forward_only
