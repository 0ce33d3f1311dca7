"""`pipeproof lab`: small models worked out, and predictions held against them."""

import json

import pytest

from pipeproof.cli import run


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["lab", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_chance_of_having_met_a_fault_is_printed_exactly(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = told(capsys, "coverage", "--p", "0.2", "--trials", "5", "--trials", "10")

    assert code == 0
    assert out.splitlines()[:2] == ["5 trials: 0.67232", "10 trials: 0.8926258176"]
    assert "an assumption, not a measurement" in out
    assert "Correlated trials, a rate that nobody knows" in out


@pytest.mark.parametrize(("arrival", "service", "left"), [("3", "3", "4"), ("0", "4", "0")])
def test_a_backlog_is_printed_with_what_it_does_not_show(
    capsys: pytest.CaptureFixture[str], arrival: str, service: str, left: str
) -> None:
    rates = ("--arrival", arrival, "--service", service)
    code, out, _ = told(capsys, "backlog", *rates, "--initial", "4", "--steps", "2")

    assert code == 0
    assert out.splitlines()[0] == left
    assert "It does not show order, deadlocks" in out


def test_a_prediction_is_held_against_what_it_predicts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("coverage", "--p", "0.2", "--trials", "5", "--trials", "10", "--predict")
    right = told(capsys, *asked, "0.67232")
    wrong = told(capsys, *asked, "0.67", "--predict", "0.8")

    assert (right[0], right[1].splitlines()[0]) == (0, "5 trials: 0.67232; predicted 0.67232: held")
    assert wrong[0] == 1
    assert "predicted 0.67: held to 2 digits" in wrong[1]
    assert "predicted 0.8: did not hold" in wrong[1]


def test_a_prediction_of_a_backlog_is_held_against_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("backlog", "--arrival", "3", "--service", "1", "--predict")
    right, wrong = told(capsys, *asked, "2"), told(capsys, *asked, "3")

    assert (right[0], right[1].splitlines()[1]) == (0, "predicted 2: held")
    assert (wrong[0], wrong[1].splitlines()[1]) == (1, "predicted 3: did not hold")


def test_json_holds_numbers_as_text_so_that_none_is_rounded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = told(capsys, "coverage", "--p", "0.2", "--trials", "5", "--format", "json")
    _, queue, _ = told(capsys, "backlog", "--arrival", ".5", "--service", "0", "--format", "json")
    said, left = json.loads(out), json.loads(queue)

    assert (said["schema"], said["p"]) == ("pipeproof.lab/1", "0.2")
    assert said["coverage"] == [{"trials": 5, "chance": "0.67232"}]
    assert (left["schema"], left["backlog"]) == ("pipeproof.lab/1", "0.5")
    assert said["words"] != left["words"]


@pytest.mark.parametrize(
    "argv",
    [
        ("coverage", "--p", "1.01", "--trials", "1"),
        ("coverage", "--p", "-0.1", "--trials", "1"),
        ("coverage", "--p", "nan", "--trials", "1"),
        ("coverage", "--p", "1e-3", "--trials", "1"),
        ("coverage", "--p", "\u0661", "--trials", "1"),
        ("coverage", "--p", "0." + "1" * 200_000, "--trials", "1"),
        ("coverage", "--p", "0.1", "--trials", "-1"),
        ("coverage", "--p", "0.1", "--trials", "1.5"),
        ("coverage", "--p", "0.1", "--trials", "9" * 20),
        ("coverage", "--p", "0.1"),
        ("coverage", "--p", "0.1", "--trials", "1", "--predict", "2"),
        ("coverage", "--p", "0.1", "--trials", "1", "--predict", "0.1", "--predict", "0.1"),
        ("backlog", "--arrival", "-1", "--service", "1"),
        ("backlog", "--arrival", "1", "--service", "::error::x"),
        ("backlog", "--arrival", "1", "--service", "1", "--initial", "-4"),
        ("backlog", "--arrival", "1", "--service", "1", "--steps", "-1"),
    ],
)
def test_what_is_no_number_of_the_model_is_refused_in_few_words(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...]
) -> None:
    code, out, err = told(capsys, *argv)

    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert len(err) < 1000


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--p", "0." + "1" * 31, "--trials", "1"), "at most 30 digits"),
        (("--p", "0.1", "--trials", "9" * 13), "at most 12 digits"),
    ],
)
def test_how_many_digits_are_read_is_said(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], said: str
) -> None:
    code, _, err = told(capsys, "coverage", *argv)

    assert (code, said in " ".join(err.split())) == (2, True)
    assert told(capsys, "coverage", "--p", "0." + "1" * 30, "--trials", "9" * 12)[0] == 0
