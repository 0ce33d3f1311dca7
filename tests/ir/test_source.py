from pipeproof.ir.operations import build
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, Expectation, Marks, Places


def test_marks_give_line_and_column_of_a_row() -> None:
    marks: Places = Marks((4, 7), (1, 3))

    assert marks.place(1) == (7, 3)


def test_a_document_expects_selects_and_notes_nothing_unless_told() -> None:
    document = Document("a.yaml", Schedule(build([]), 1, 1, 1), Marks((), ()))

    assert (document.expect, document.select, document.ignore, document.notes) == ((), (), (), ())
    assert Expectation(None, "proved").rule is None
