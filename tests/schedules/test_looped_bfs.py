from pipeproof.schedules import generate, looped_bfs


def program(rank: int, *, ranks: int, microbatches: int, stages_per_rank: int | None = None) -> str:
    operations = generate(
        looped_bfs.NAME, ranks=ranks, microbatches=microbatches, stages_per_rank=stages_per_rank
    ).operations
    return " ".join(operations.program(rank))


def test_each_stage_runs_every_microbatch_and_backwards_go_down() -> None:
    shape = {"ranks": 2, "microbatches": 2, "stages_per_rank": 2}

    assert program(0, **shape) == "0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0"
    assert program(1, **shape) == "1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0"


def test_one_stage_a_rank_will_do() -> None:
    assert program(1, ranks=2, microbatches=2) == "1F0 1F1 1B1 1B0"


def test_stages_are_placed_in_a_loop() -> None:
    schedule = generate("looped_bfs", ranks=2, microbatches=1, stages_per_rank=3)

    assert schedule.placement == (0, 1, 0, 1, 0, 1)
