import pytest

from pipeproof.errors import UsageError
from pipeproof.schedules import dualpipev, generate


def program(rank: int, *, ranks: int, microbatches: int) -> str:
    operations = generate(dualpipev.NAME, ranks=ranks, microbatches=microbatches).operations
    return " ".join(operations.program(rank))


def test_forwards_overlap_with_backwards_of_the_other_stage() -> None:
    assert program(0, ranks=2, microbatches=4) == (
        "0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3;3B1)OVERLAP_F_B (3F2;0B0)OVERLAP_F_B "
        "3B2 (3F3;0B1)OVERLAP_F_B 3B3 0I2 0W2 0I3 0W3"
    )


def test_the_last_rank_opens_without_an_overlap() -> None:
    assert program(1, ranks=2, microbatches=4) == (
        "1F0 2F0 1F1 2F1 1F2 2B0 (2F2;1B0)OVERLAP_F_B (1F3;2B1)OVERLAP_F_B "
        "(2F3;1B1)OVERLAP_F_B 2B2 1B2 2I3 1I3 2W3 1W3"
    )


def test_one_rank_runs_both_stages() -> None:
    assert program(0, ranks=1, microbatches=2) == "0F0 1F0 0F1 1B0 (1F1;0B0)OVERLAP_F_B 1B1 0I1 0W1"


def test_an_overlap_is_one_position_of_two_rows() -> None:
    operations = generate("dualpipev", ranks=1, microbatches=2).operations

    assert operations.position.tolist() == [0, 1, 2, 3, 4, 4, 5, 6, 7]
    assert operations.member.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert operations.bracket.tolist() == [0, 0, 0, 0, 2, 2, 0, 0, 0]


def test_fewer_microbatches_than_stages_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        generate("dualpipev", ranks=2, microbatches=3)

    assert str(caught.value) == "dualpipev:1:1: 3 microbatches on 2 ranks; write at least 4"
