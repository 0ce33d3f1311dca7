"""What pipeproof raises, and how it puts what stands in a file."""

import pytest

from pipeproof import errors
from pipeproof.errors import (
    InputError,
    InternalError,
    LimitError,
    MalformedScheduleError,
    ParseError,
    PipeproofError,
    Problem,
    ReplayMismatchError,
    UnsupportedFeatureError,
    UsageError,
    did_you_mean,
    printable,
)


def test_a_problem_says_its_place_what_stands_there_and_what_was_expected() -> None:
    problem = Problem("run.csv", 3, 7, "'2X0' is no operation", "write 2F0 or 1SEND_F3")

    assert str(problem) == "run.csv:3:7: '2X0' is no operation; write 2F0 or 1SEND_F3"


def test_an_input_error_says_every_problem_on_a_line() -> None:
    first, second = Problem("a", 1, 1, "x", "y"), Problem("a", 2, 1, "u", "v")
    error = ParseError([first, second])

    assert error.problems == (first, second)
    assert str(error) == "a:1:1: x; y\na:2:1: u; v"


@pytest.mark.parametrize("kind", [ParseError, MalformedScheduleError, LimitError, UsageError])
def test_what_the_caller_did_wrong_is_an_input_error(kind: type[PipeproofError]) -> None:
    assert issubclass(kind, InputError)
    assert not issubclass(kind, InternalError)


def test_a_replay_that_fails_is_ours_and_what_is_not_modelled_is_nobodys() -> None:
    assert issubclass(ReplayMismatchError, InternalError)
    assert not issubclass(UnsupportedFeatureError, InputError | InternalError)


def test_the_tree_of_the_docstring_names_every_exception() -> None:
    tree = errors.__doc__ or ""
    names = [name for name in errors.__all__ if name.endswith("Error")]

    assert all(name in tree for name in names)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("rendezvos", ", did you mean 'rendezvous'?"),
        ("gloo", ", did you mean 'gloo'?"),
        ("xyzzy", ""),
        ("", ""),
    ],
)
def test_a_close_word_is_offered(word: str, said: str) -> None:
    assert did_you_mean(word, ["rendezvous", "gloo"]) == said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2X0", "'2X0'"),
        ("", "''"),
        ("a\x1b[31m", r"'a\x1b[31m'"),
        ("a\nb", r"'a\x0ab'"),
        ("ä", "'ä'"),
        ("12345678", "'12345678'"),
        ("123456789", "'12345678…'"),
    ],
)
def test_what_stands_in_a_file_is_shown_without_control_characters(text: str, shown: str) -> None:
    assert printable(text, 8) == shown


def test_each_mistake_is_a_line_whatever_a_file_is_called() -> None:
    problems = [Problem("a\n::error::b\u2028c", 1, 2, "this", "that") for _ in range(2)]

    assert str(InputError(problems)).split("\n") == ["a ::error::b c:1:2: this; that"] * 2
