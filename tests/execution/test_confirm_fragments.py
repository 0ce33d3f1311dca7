"""Runs on tensors ask nothing that a fragment, or a stage without marks, may leave out."""

import pytest

from pipeproof.execution.confirm import Answer
from tests.execution.played import answers, document, ran
from tests.semantics import made


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("0F0; 1I0", {"placement": [0, 0]}),
        ("0F0; 0B0; 0F1; 0I1; 0STEP", {"microbatches": 2}),
        ("0F0; 0W0; 0STEP", {}),
        ("0W0; 1I0; 1W0", {"placement": [0, 0]}),
        ("0STEP; 0F1; 0B1; 0STEP", {"steps": 2}),
        ("1STEP; 0F0", {"placement": [0, 0], "gradients": {"tied": [["0", "1"]]}}),
        ("0F0; 1F0; 1B0; 0B0; 1REDUCE; 1STEP; 0STEP", {"placement": [0, 0]}),
    ],
)
def test_what_a_fragment_leaves_out_is_not_missed(program: str, keys: dict[str, object]) -> None:
    text = made.text(program, **{**keys, "fragment": True, "transport": "buffered"})

    (found,) = ran(document(text))

    assert not [*answers(text)]
    assert not found.wrong
    assert found.compared


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("0F0; 0B0; 0B0", "PP702"),
        ("0F0; 0B0; 0SCALE by=1/2", "PP703"),
        ("0F0; 0I0; 0STEP; 0W0", "PP706"),
        ("0W0; 0I0", "PP404"),
    ],
)
def test_what_stands_in_a_fragment_is_judged(program: str, rule: str) -> None:
    text = made.text(program, fragment=True, transport="buffered")

    ((_, found),) = answers(text, rule)

    assert found.answer is Answer.CONFIRMED


@pytest.mark.parametrize(("first", "second"), [(" last=yes", ""), ("", " last=yes"), ("", "")])
def test_a_mark_of_one_stage_asks_nothing_of_another(first: str, second: str) -> None:
    program = f"0F0; 1F0; 1I0; 0I0; 0W0{first}; 1W0{second}; 0STEP; 1STEP"
    text = made.text(program, placement=[0, 0], transport="buffered")

    (found,) = ran(document(text))

    assert not [*answers(text)]
    assert not found.wrong
    assert found.compared


def test_a_mark_too_early_is_seen_at_its_stage() -> None:
    program = "0F0; 0B0 last=yes; 0F1; 0B1 last=no"
    text = made.text(program, microbatches=2, transport="buffered")

    assert "confirmed" in {found.answer.value for _, found in answers(text, "PP704")}
