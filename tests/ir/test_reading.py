import pytest

from pipeproof.errors import InputError, LimitError, MalformedScheduleError, ParseError, Problem
from pipeproof.ir.reading import (
    LIMITS,
    MOST_MISTAKES,
    Mistakes,
    ReadOptions,
    check_characters,
    check_size,
    decode,
)


@pytest.mark.parametrize(
    ("data", "line", "column", "found"),
    [
        (b"\xef\xbb\xbf0F0", 1, 1, "byte order mark"),
        (b"\xff\xfe0\x00", 1, 1, "byte order mark"),
        (b"0F0\nab\xff", 2, 3, "byte 0xff is no UTF-8"),
        (b"0F0\r\n\xc3\xa9\x00", 2, 2, "U+0000"),
        (b"0F0\x1b[31m", 1, 4, "U+001B"),
    ],
)
def test_what_is_no_text_file_is_refused_with_its_place(
    data: bytes, line: int, column: int, found: str
) -> None:
    with pytest.raises(ParseError) as caught:
        decode(data, "file")

    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (line, column)
    assert found in problem.found


def test_text_comes_back_as_it_is() -> None:
    assert decode("é\t\r\n0F0".encode(), "file") == "é\t\r\n0F0"


def test_lone_surrogate_is_refused() -> None:
    with pytest.raises(ParseError, match=r"f:2:1: character U\+D800"):
        check_characters("a\n\ud800", "f")


def test_limits_have_names_and_can_be_raised() -> None:
    assert ReadOptions().limit("ranks") == LIMITS["ranks"]
    assert ReadOptions(limits={"ranks": 5000}).limit("ranks") == 5000


def test_size_counts_bytes_and_names_its_limit() -> None:
    options = ReadOptions(limits={"bytes": 3})

    check_size("abc", "f", "bytes", options)
    with pytest.raises(LimitError, match=r"4 bytes; at most 3 \(limit 'bytes': --limit bytes=N\)"):
        check_size("éé", "f", "bytes", options)


def test_mistakes_are_raised_together_in_order_of_the_file() -> None:
    mistakes = Mistakes("f")
    mistakes.settle()
    mistakes.add(2, 1, "b", "c")
    mistakes.add(1, 0, "a", "c")

    with pytest.raises(MalformedScheduleError) as caught:
        mistakes.settle(MalformedScheduleError)
    assert caught.value.problems == (Problem("f", 1, 1, "a", "c"), Problem("f", 2, 1, "b", "c"))


def test_reading_ends_at_too_many_mistakes() -> None:
    mistakes = Mistakes("f")
    for line in range(1, MOST_MISTAKES):
        mistakes.add(line, 1, "a", "b")

    with pytest.raises(InputError, match="mend these mistakes first") as caught:
        mistakes.add(MOST_MISTAKES, 1, "a", "b")
    assert len(caught.value.problems) == MOST_MISTAKES + 1
