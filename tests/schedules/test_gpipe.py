from pipeproof.schedules import generate, gpipe


def program(rank: int, backward: str | None = None) -> str:
    options = {} if backward is None else {"backward": backward}
    schedule = generate(gpipe.NAME, ranks=2, microbatches=3, options=options)
    return " ".join(schedule.operations.program(rank))


def test_backwards_ascend_as_torch_runs_them() -> None:
    assert program(0) == "0F0 0F1 0F2 0B0 0B1 0B2"
    assert program(1) == "1F0 1F1 1F2 1B0 1B1 1B2"
    assert program(0, "ascending") == program(0)


def test_backwards_descend_as_the_paper_draws_them() -> None:
    assert program(0, "descending") == "0F0 0F1 0F2 0B2 0B1 0B0"
    assert program(1, "descending") == "1F0 1F1 1F2 1B2 1B1 1B0"
