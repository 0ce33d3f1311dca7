"""What one run found, summed up."""

from pipeproof.errors import Problem
from pipeproof.ir.source import Marks
from pipeproof.verdict.result import Failure, FileReport, Quote, Result, quoted
from pipeproof.verdict.verdict import (
    FileVerdict,
    Outcome,
    Place,
    TransportVerdict,
    Violation,
)


def verdict(*places: Place) -> FileVerdict:
    violation = Violation("PP301", "deadlock", "stuck", places, 1, first=True)
    transport = TransportVerdict(
        "buffered", Outcome.REFUTED, "graph", 4, 1, (), violations=(violation,)
    )
    return FileVerdict(
        "a.csv",
        Outcome.REFUTED,
        stages=1,
        ranks=1,
        microbatches=1,
        operations=2,
        lowering="as-written",
        profile="none",
        fragment=False,
        transports=(transport,),
    )


def test_places_are_quoted_with_their_line() -> None:
    places = Marks((1, 2), (1, 5))
    found = verdict(Place(0, 0, "0F0", 0), Place(0, 1, "0B0", 1))

    assert quoted(found, places, "0F0\r\n0I0,0B0\n") == {
        0: Quote(1, 1, "0F0"),
        1: Quote(2, 5, "0I0,0B0"),
    }


def test_what_stands_nowhere_has_no_quote() -> None:
    found = verdict(Place(0, 2, "", -1), Place(0, 1, "SEND F0.0 to=1", 0, lowered=True))

    assert quoted(found, Marks((0,), (0,)), "0F0\n") == {}


def test_a_line_beyond_the_text_is_quoted_as_nothing() -> None:
    assert quoted(verdict(Place(0, 0, "0F0", 0)), Marks((9,), (1,)), "") == {0: Quote(9, 1, "")}


def test_a_report_has_the_quote_of_its_place() -> None:
    place = Place(0, 0, "0F0", 0)
    found = verdict(place)
    report = FileReport("a.csv", found, quotes=quoted(found, Marks((1,), (1,)), "0F0"))

    assert report.quote(place) == Quote(1, 1, "0F0")
    assert report.quote(Place(0, 9, "", -1)) is None


def test_words_say_what_became_of_a_file() -> None:
    problem = Problem("a", 1, 1, "x", "y")

    assert FileReport("a", verdict()).word == "refuted"
    assert FileReport("a", problems=(problem,)).word == "error"
    assert FileReport("a", failure=Failure("bug", 101)).word == "error"
    assert FileReport("a", unsupported="faults").word == "unknown"


def test_a_result_counts_its_words() -> None:
    result = Result("0", (FileReport("a", verdict()), FileReport("b", unsupported="faults")))

    assert (result.count("refuted"), result.count("unknown"), result.count("proved")) == (1, 1, 0)
    assert result.word == "refuted"
