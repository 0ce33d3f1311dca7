from collections.abc import Sequence

from pipeproof.ir.operations import Operations
from pipeproof.ir.program import Piece, Programs
from pipeproof.ir.reading import Mistakes, ReadOptions
from pipeproof.ir.schedule import Schedule, neighbours


def operations(programs: Sequence[str]) -> Operations:
    mistakes = Mistakes("f")
    reader = Programs(mistakes, ReadOptions())
    for text in programs:
        reader.read([Piece(text, 1, 1)])
    mistakes.settle()
    return reader.operations()


def test_forward_only_where_no_backward_stands() -> None:
    assert Schedule(operations(["0F0; SEND F0.0 to=0"]), 1, 1, 1).forward_only
    assert not Schedule(operations(["0F0; 0W0"]), 1, 1, 1).forward_only


def test_all_stages_are_one_pipeline_unless_others_are_given() -> None:
    empty = operations([""])

    assert Schedule(empty, 1, 3, 1).lines == ((0, 1, 2),)
    assert Schedule(empty, 1, 4, 1, pipelines=((0, 1), (3, 2))).lines == ((0, 1), (3, 2))


def test_neighbours_are_those_of_the_pipeline() -> None:
    schedule = Schedule(operations([""]), 1, 4, 1, pipelines=((0, 1), (3, 2)))

    assert neighbours(schedule) == ((-1, 0, 3, -1), (1, -1, -1, 2))
