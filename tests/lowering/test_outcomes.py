"""A schedule with its choices settled is one without choices."""

import pytest

from pipeproof.ir.as_run import AsRun
from pipeproof.lowering.outcomes import (
    Name,
    alternatives,
    chosen,
    has_choices,
    open_receives,
    received,
    taken_by_tag,
    unclear,
)
from tests.semantics.made import run

BOTH = ("CHOOSE q a|b; WRITE x u if=q:a; WRITE x v if=q:b; USE x u", "CHOOSE q b|c")


def texts(made: AsRun) -> list[str]:
    return list(made.operations.program(0))


def test_a_choice_has_the_outcomes_that_any_rank_names() -> None:
    assert alternatives(run(*BOTH)) == {Name(0, "q"): ("a", "b", "c")}


def test_copies_choose_for_themselves() -> None:
    made = run("CHOOSE q a|b", "", steps="any", copies=2)

    assert alternatives(made) == {Name(0, "q"): ("a", "b"), Name(1, "q"): ("a", "b")}


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        ("a", ["CHOOSE q a|b", "WRITE x u if=q:a", "USE x u"]),
        ("b", ["CHOOSE q a|b", "WRITE x v if=q:b", "USE x u"]),
        ("c", ["CHOOSE q a|b", "USE x u"]),
    ],
)
def test_an_instruction_whose_outcome_did_not_come_is_passed_over(
    outcome: str, kept: list[str]
) -> None:
    made = chosen(run(*BOTH), {Name(0, "q"): outcome})

    assert texts(made) == kept
    assert made.settled


def test_what_is_left_keeps_its_place_in_the_file() -> None:
    made = chosen(run(*BOTH), {Name(0, "q"): "b"})

    assert made.written.tolist() == [0, 2, 3, 4]
    assert made.operations.position.tolist() == [0, 2, 3, 0]


def test_storage_is_that_of_the_outcome() -> None:
    stored = chosen(run(*BOTH), {Name(0, "q"): "b"}).storage

    assert stored is not None
    assert len(stored) == 2


def test_a_schedule_without_choices_has_none() -> None:
    assert not has_choices(run("0F0; SEND F0.0 to=1", "RECV F0.0 from=0"))
    assert has_choices(run("RECV v from=any", ""))
    assert has_choices(run("RECV any from=1", ""))
    assert has_choices(run("RECV u from=1 v=any", ""))
    assert has_choices(run(*BOTH))


def test_an_open_receive_takes_what_it_is_said_to_take() -> None:
    made = run("RECV any from=any; RECV v from=any", "SEND u to=0")
    code = int(made.operations.value[2])
    settled = received(made, {0: 1}, {0: code})

    assert open_receives(made).tolist() == [0, 1]
    assert texts(settled) == ["RECV u from=1", "RECV v from=0 comm=<nobody>"]


AGAIN = "CHOOSE q a|b; WRITE x u if=q:a; CHOOSE q a|b; WRITE x v if=q:a"


def test_a_rank_that_chooses_again_makes_its_next_choice() -> None:
    made = run(AGAIN)

    assert list(alternatives(made)) == [Name(0, "q"), Name(0, "q", 1)]
    kept = chosen(made, {Name(0, "q"): "b", Name(0, "q", 1): "a"})
    assert texts(kept)[1:] == ["CHOOSE q a|b", "WRITE x v if=q:a"]


def test_a_choice_that_is_passed_over_has_no_outcome() -> None:
    made = run("CHOOSE q a|b; CHOOSE p a|b if=q:a; WRITE y u if=p:a; WRITE y v if=p:b")

    for outcome in "ab":
        kept = chosen(made, {Name(0, "q"): "b", Name(0, "p"): outcome})
        assert texts(kept) == ["CHOOSE q a|b"]


def test_what_stands_before_the_choice_of_its_rank_is_passed_over() -> None:
    kept = chosen(run("WRITE x u if=q:a; CHOOSE q a|b; WRITE x v if=q:a"), {Name(0, "q"): "a"})

    assert texts(kept) == ["CHOOSE q a|b", "WRITE x v if=q:a"]


def test_a_choice_that_is_passed_over_leaves_the_one_before() -> None:
    made = run("CHOOSE p a|b; CHOOSE q a|b; CHOOSE q a|b if=p:a; WRITE x u if=q:a")
    outcome = {Name(0, "p"): "b", Name(0, "q"): "a", Name(0, "q", 1): "b"}

    assert texts(chosen(made, outcome))[-1] == "WRITE x u if=q:a"


def test_a_rank_that_goes_by_one_of_several_choices_of_another_is_unclear() -> None:
    assert unclear(run(AGAIN, "WRITE x u if=q:a"))
    assert not unclear(run("CHOOSE q a|b", "WRITE x u if=q:a"))
    assert not unclear(run(AGAIN, "CHOOSE q a|b; CHOOSE q a|b; WRITE x u if=q:a"))


def test_by_tag_a_receive_of_any_content_takes_the_oldest_that_none_before_it_takes() -> None:
    made = run("RECV b from=1 h=x; RECV any from=1; RECV a from=1", "SEND a to=0; SEND b to=0")
    (row,) = open_receives(made).tolist()

    assert taken_by_tag(made) == {row: int(made.operations.value[3])}
    assert taken_by_tag(run("RECV any from=1", "")) == {}
