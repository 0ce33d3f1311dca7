"""Several steps are the programs one after the other, with ids that run on."""

from pipeproof.lowering.copies import repeat
from tests.semantics.made import schedule


def test_one_copy_is_the_table_itself() -> None:
    ops = schedule("0F0; 0B0").operations

    repeated, from_row, copy = repeat(ops, 1, 1)

    assert repeated is ops
    assert (from_row.tolist(), copy.tolist()) == ([0, 1], [0, 0])


def test_each_rank_runs_its_copies_one_after_the_other() -> None:
    ops = schedule("0F0; SEND F0.0 to=1", "RECV F0.0 from=0").operations

    repeated, from_row, copy = repeat(ops, 2, 1)

    assert list(repeated.program(0)) == ["0F0", "SEND F0.0 to=1", "0F1", "SEND F0.1 to=1"]
    assert list(repeated.program(1)) == ["RECV F0.0 from=0", "RECV F0.1 from=0"]
    assert repeated.position.tolist() == [0, 1, 2, 3, 0, 1]
    assert from_row.tolist() == [0, 1, 0, 1, 2, 2]
    assert copy.tolist() == [0, 0, 1, 1, 0, 1]


def test_ids_are_higher_by_the_microbatches_of_a_step() -> None:
    ops = schedule("0F2; LOAD X.2", microbatches=3).operations

    repeated, _, _ = repeat(ops, 3, 3)

    assert list(repeated.program(0)) == ["0F2", "LOAD X.2", "0F5", "LOAD X.5", "0F8", "LOAD X.8"]


def test_names_and_what_has_no_microbatch_stay() -> None:
    ops = schedule("SEND meta to=0; 0STEP; RECV any from=0").operations

    repeated, _, _ = repeat(ops, 2, 1)

    assert list(repeated.program(0)) == ["SEND meta to=0", "0STEP", "RECV any from=0"] * 2


def test_attributes_follow_their_operations() -> None:
    ops = schedule("0F0; COLL all ranks=0,1", "0B0 c=1/2; COLL all ranks=0,1").operations

    repeated, _, _ = repeat(ops, 2, 1)

    assert list(repeated.program(1))[2] == "0B1 c=1/2"
    assert sorted(repeated.attributes) == [1, 3, 4, 5, 6, 7]


def test_brackets_stay_one_instruction() -> None:
    ops = schedule("[SEND v to=1 | RECV u from=1] h=x; WAIT x", "").operations

    repeated, _, _ = repeat(ops, 2, 1)

    assert repeated.instruction.tolist() == [0, 0, 1, 2, 2, 3]
    assert list(repeated.program(0))[2] == "[SEND v to=1 | RECV u from=1] h=x"


def test_nothing_twice_is_nothing() -> None:
    repeated, from_row, _ = repeat(schedule("").operations, 2, 1)

    assert (len(repeated), len(from_row)) == (0, 0)
