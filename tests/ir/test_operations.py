import numpy as np
import pytest

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Operations, Row, build, read_only
from pipeproof.ir.program import Piece, Programs
from pipeproof.ir.reading import Mistakes, ReadOptions
from tests.semantics.made import schedule

PROGRAM = """\
2F0
0F1 in=a if=q:a
[SEND F0.1 to=1 comm=c | RECV B1.0 from=1] h=x if=q:b
[2SEND_F0]
(0F7;7B3 gin=a)OVERLAP_F_B if=q:a
WAIT x if=q:a
COLL all ranks=0,1 kind=all
SEND meta to=1 comm=cpu h=m
RECV any from=any
RECV z from=any v=any
WAIT m
CHOOSE q a|b
SAVE async=versions,rng
SAVE
RESTORE a have=1 want=b
RESUME at=3
1SCALE by=1/4
0NORM ranks=0,1
0UNSHARD
0REDUCE h=x
HOLD 3
DROP 3
CONSUME 2
LOAD X.0 buf=a
LOAD Y.0
WRITE b F0.1
USE b meta
FREE b
SIGNAL to=1
AWAIT from=1
1L0
1R0
0GATHER bucket=A
"""


def read(text: str) -> tuple[list[Row], Operations]:
    mistakes = Mistakes("f")
    programs = Programs(mistakes, ReadOptions())
    programs.read([Piece(text, 1, 1)])
    mistakes.settle()
    return programs.rows, programs.operations()


def test_what_is_written_reads_as_the_same_rows() -> None:
    rows, operations = read(PROGRAM)
    text = "\n".join(operations.program(0))

    assert text == PROGRAM.strip()
    assert read(text)[0] == rows


@pytest.mark.parametrize("text", ["[SEND v to=1 | 0SEND_F0] h=x", "(0F0;0B0 c=1/2)OVERLAP_F_B"])
def test_a_member_has_a_text_of_its_own(text: str) -> None:
    rows, operations = read(text)
    (alone,) = read(operations.text(1))[0]

    assert (alone.kind, alone.stage, alone.microbatch) == (rows[1].kind, 0, 0)
    assert alone.attributes == rows[1].attributes


def test_a_member_of_a_group_shows_its_handle() -> None:
    assert read("[SEND v to=1 | 0SEND_F0] h=x")[1].text(0) == "SEND v to=1 h=x"


def test_rows_are_grouped_by_instruction() -> None:
    _, operations = read("0F0; [0SEND_F0 | 0RECV_B0]; 0B0")

    assert operations.instruction.tolist() == [0, 1, 1, 2]
    assert operations.first_row.tolist() == [0, 1, 3]
    assert operations.is_kind(Kind.F, Kind.B).tolist() == [True, False, False, True]


def test_ranks_do_not_share_an_instruction() -> None:
    operations = build([Row(0, 0, 0, Kind.F, 0, 0), Row(1, 0, 0, Kind.F, 1, 0)])

    assert operations.first_row.tolist() == [0, 1]
    assert list(operations.program(1)) == ["1F0"]


def test_an_empty_table_has_no_instructions() -> None:
    operations = build([])

    assert len(operations) == 0
    assert operations.first_row.tolist() == []
    assert operations.instruction.tolist() == []
    assert list(operations.program(0)) == []


def test_columns_cannot_be_written_to() -> None:
    column = read_only([1, 2])

    assert column.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 3


def counted(text: str) -> list[int]:
    return list(map(int, read(text)[1].ordinal))


def test_equal_operations_are_counted_along_the_program_of_their_rank() -> None:
    assert counted("0F0; 0F1; 0F0; 0F0") == [0, 0, 1, 2]
    assert counted("") == []


def test_what_stands_between_equal_operations_does_not_count() -> None:
    assert counted("0F0; SEND m to=1; [SEND m to=1 | RECV n from=1]; 0F0") == [0, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "other", ["0F0 keep=b", "0F1", "0B0", "1F0", "SEND m to=1", "SEND n to=1", "WRITE s m"]
)
def test_operations_that_differ_in_anything_written_are_not_equal(other: str) -> None:
    assert counted(f"0F0; SEND m to=2; WRITE s n; {other}; {other}") == [0, 0, 0, 0, 1]


def test_the_order_of_attributes_makes_no_other_operation() -> None:
    assert counted("0F0 in=a out=b; 0F0 out=b in=a") == [0, 1]


def test_each_rank_counts_its_own_operations() -> None:
    ops = schedule("0F0; 0F1; 0F0", "0F0; 0F0", microbatches=2).operations

    assert list(map(int, ops.ordinal)) == [0, 0, 1, 0, 1]
