"""Certificates of schedules with CHOOSE: one statement for each outcome, or none is believed."""

import json
import random

import pytest

from pipeproof import api
from pipeproof import recheck as module
from pipeproof.errors import InputError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.proofs._settled import every, settled
from pipeproof.recheck import Checker, Choices, Rejected, Statement, lay
from tests.rechecking.making import (
    CROSSED,
    Json,
    advance,
    as_run,
    check,
    path_between,
    proved,
    refuted,
)

WHICH = [
    ["CHOOSE which a|b", "0F0", "SEND F0.0 to=1 if=which:a"],
    ["CHOOSE which a|b", "RECV F0.0 from=0 if=which:a", "1F0 if=which:a"],
]
AGAIN = [
    ["CHOOSE c a|b", "0F0 if=c:a", "CHOOSE c a|b", "0F1 if=c:b"],
    ["CHOOSE c a|b", "[SEND v to=1] if=c:b", "CHOOSE c a|b", "RECV v from=1 if=c:a"],
]
RULES = ["PP201", "PP301", "PP401", "PP501"]


def laid(schedule: str, outcome: Json, copies: int = 1) -> Statement:
    """What a statement about an outcome speaks of, its run and paths still to be filled in."""
    found = module.schedule_of(schedule)
    waits = Checker(found)._waits_of(found.transports["custom"], copies, outcome)
    return Statement({"run": []}, waits)


def written(schedule: str, outcome: Json, rules: list[str] = RULES, copies: int = 1) -> Json:
    waits = laid(schedule, outcome, copies).waits
    asked = {p for rule, pairs in waits.reading.pairs.items() if rule[:5] in rules for p in pairs}
    paths = [
        {"before": before, "after": after, "path": path_between(waits, before, after)}
        for before, after in sorted(asked)
    ]
    return proved(rules, run=advance(waits), paths=paths, copies=copies, outcome=outcome)


def names(schedule: str, outcome: Json, copies: int = 1) -> list[list[str]]:
    """The kinds of the instructions that are left of each rank."""
    program = laid(schedule, outcome, copies).program
    return [
        [program.instructions[number].ops[0].kind for number in program.numbers(rank)]
        for rank in range(program.ranks)
    ]


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        ("a", [["CHOOSE", "F", "SEND"], ["CHOOSE", "RECV", "F"]]),
        ("b", [["CHOOSE", "F"], ["CHOOSE"]]),
    ],
)
def test_what_is_passed_over_is_left_out(outcome: str, left: list[list[str]]) -> None:
    assert names(as_run(WHICH), {"which": outcome}) == left


def test_a_proof_of_every_outcome_is_accepted() -> None:
    schedule = as_run(WHICH)

    assert check(schedule, *(written(schedule, {"which": each}) for each in "ab")) == 2


@pytest.mark.parametrize("outcome", ["a", "b"])
def test_a_proof_that_lacks_an_outcome_is_rejected(outcome: str) -> None:
    schedule = as_run(WHICH)

    with pytest.raises(Rejected, match="an outcome is missing"):
        check(schedule, written(schedule, {"which": outcome}))


def test_outcomes_that_are_proved_of_other_rules_are_rejected() -> None:
    schedule = as_run(WHICH)
    one, other = written(schedule, {"which": "a"}), written(schedule, {"which": "b"}, ["PP301"])

    with pytest.raises(Rejected, match="the same rules"):
        check(schedule, one, other)


def test_an_outcome_that_stands_twice_is_rejected() -> None:
    schedule = as_run(WHICH)
    one = written(schedule, {"which": "a"})

    with pytest.raises(Rejected, match="stated twice"):
        check(schedule, one, one)


def test_what_is_shown_of_one_outcome_is_not_taken_for_another() -> None:
    schedule = as_run(WHICH)
    one = written(schedule, {"which": "a"})

    with pytest.raises(Rejected, match="run"):
        check(schedule, one, one | {"outcome": {"which": "b"}})


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        ({}, "lacks 'which'"),
        ({"which": "c"}, "no alternative"),
        ({"which": 1}, "no text"),
        ({"which": ["a"]}, "no text"),
        ({"which": "a", "other": "a"}, "no key"),
        ("a", "no object"),
    ],
)
def test_an_outcome_that_is_none_is_rejected(outcome: Json, why: str) -> None:
    schedule = as_run(WHICH)

    with pytest.raises(Rejected, match=why):
        check(schedule, written(schedule, {"which": "a"}) | {"outcome": outcome})


def test_a_statement_without_an_outcome_of_a_schedule_with_choices_is_rejected() -> None:
    statement = written(as_run(WHICH), {"which": "a"})
    del statement["outcome"]

    with pytest.raises(Rejected, match="outcome"):
        check(as_run(WHICH), statement)


def test_an_outcome_of_a_schedule_without_choices_is_rejected() -> None:
    with pytest.raises(Rejected, match="outcome"):
        check(as_run([["0F0"], []]), proved(["PP301"], outcome={}))


def test_one_outcome_is_enough_to_refute() -> None:
    crossed = [["CHOOSE c a|b", *(f"{each} if=c:a" for each in rank)] for rank in CROSSED]
    schedule = as_run(crossed)
    run = advance(laid(schedule, {"c": "a"}).waits)
    places = [[0, 1], [1, 1]]

    assert check(schedule, refuted("PP301", run, places=places, outcome={"c": "a"})) == 1
    with pytest.raises(Rejected, match=r"no event|run"):
        check(schedule, refuted("PP301", run, places=places, outcome={"c": "b"}))


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        ("aa", [["CHOOSE", "F", "CHOOSE"], ["CHOOSE", "CHOOSE", "RECV"]]),
        ("ab", [["CHOOSE", "F", "CHOOSE", "F"], ["CHOOSE", "CHOOSE"]]),
        ("ba", [["CHOOSE", "CHOOSE"], ["CHOOSE", "SEND", "CHOOSE", "RECV"]]),
        ("bb", [["CHOOSE", "CHOOSE", "F"], ["CHOOSE", "SEND", "CHOOSE"]]),
    ],
)
def test_an_instruction_goes_by_the_last_choice_before_it(
    outcome: str, left: list[list[str]]
) -> None:
    assert names(as_run(AGAIN), {"c": outcome[0], "c#2": outcome[1]}) == left


def test_a_choice_is_made_anew_in_the_second_copy() -> None:
    schedule = as_run([["CHOOSE c a|b", "0F0 if=c:a"]], steps="any", microbatches=1)

    assert names(schedule, {"c": "a", "c@2": "b"}, 2) == [["CHOOSE", "F", "CHOOSE"]]
    outcomes = [{"c": one, "c@2": two} for one in "ab" for two in "ab"]
    assert check(schedule, *(written(schedule, each, RULES, 2) for each in outcomes)) == 4


def test_what_hangs_on_a_choice_that_is_passed_over_is_passed_over() -> None:
    schedule = as_run([["CHOOSE c a|b", "CHOOSE d x|y if=c:a", "0F0 if=d:x"], ["1F0 if=d:x"]])

    assert names(schedule, {"c": "a", "d": "x"}) == [["CHOOSE", "CHOOSE", "F"], ["F"]]
    assert names(schedule, {"c": "b", "d": "x"}) == [["CHOOSE"], []]


def test_what_stands_before_the_choice_of_its_rank_is_passed_over() -> None:
    schedule = as_run([["0F0 if=c:a", "CHOOSE c a|b"], ["CHOOSE c a|b"]])

    assert names(schedule, {"c": "a"}) == [["CHOOSE"], ["CHOOSE"]]


def test_behind_a_choice_that_is_passed_over_the_one_before_counts() -> None:
    programs = [["CHOOSE c a|b", "CHOOSE d x|y", "CHOOSE c a|b if=d:x", "0F0 if=c:a"]]
    outcome = {"c": "a", "c#2": "b", "d": "y"}

    assert names(as_run(programs), outcome) == [["CHOOSE", "CHOOSE", "F"]]


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ([["CHOOSE c a|b", "CHOOSE c a|b"], ["1F0 if=c:a"]], "several times"),
        ([["CHOOSE c a|b", "0F0 if=d:a"]], "nothing chooses"),
        ([["CHOOSE c a|b", "0F0 if=c:x"]], "nothing chooses"),
        ([["CHOOSE c a|b", "0F0 if=c"]], "names no choice"),
        ([["CHOOSE c a|b", "[SEND v to=0 if=c:a]"]], "no bracket"),
        ([["CHOOSE c a|b", "(0F0 if=c:a;0B0)OVERLAP_F_B"]], "no overlap"),
    ],
)
def test_a_condition_that_goes_by_nothing_is_rejected(programs: list[list[str]], why: str) -> None:
    with pytest.raises(Rejected, match=why):
        check(as_run(programs), refuted("PP301", [], places=[[0, 0]], outcome={}))


def drawn(seed: int) -> str:
    """Programs of choices that hang on each other, and stand several times."""
    rng = random.Random(seed)
    programs: list[list[str]] = [[], []]
    for number in range(rng.randint(3, 9)):
        name, other = rng.choice("cd"), rng.choice("cde")
        condition = rng.choice(["", "", f" if={other}:{rng.choice('ab')}"])
        made = f"CHOOSE {rng.choice('cde')} a|b{condition}"
        rng.choice(programs).append(rng.choice([made, f"WRITE s{number} v if={name}:a"]))
    ranks = ["; ".join(program) or "SIGNAL to=0" for program in programs]
    keys = {"pipeproof": 1, "microbatches": 1, "stages": 2, "transport": "buffered"}
    return json.dumps({**keys, "steps": rng.choice([1, "any"]), "ranks": ranks})


def stripped(text: str) -> list[str]:
    return [word for word in text.split(" ") if "=" not in word]


def test_both_programs_leave_out_the_same() -> None:
    """What the checker passes over under an outcome is what is judged of it."""
    compared = 0
    for seed in range(120):
        try:
            (document,) = spec.read(drawn(seed), "drawn", ReadOptions())
        except InputError:
            continue
        model = api.models(document)("buffered", 1)
        assert model is not None
        choices: Choices | None = None
        for outcome in every(model.frame.run):
            choices = choices or Choices(lay(module.schedule_of(api.as_run(document)), 1))
            left = settled(model, outcome).frame.run.operations
            words = [[*left.program(rank)] for rank in range(2)]
            theirs = choices.settled(dict(outcome))

            assert [[stripped(each) for each in program] for program in words] == [
                [[each.ops[0].kind, *each.ops[0].words] for each in program] for program in theirs
            ], (seed, outcome)
            compared += 1
    assert compared > 200


def test_both_programs_refuse_a_choice_that_others_make_several_times() -> None:
    text = drawn(0).replace(json.loads(drawn(0))["ranks"][0], "CHOOSE c a|b; CHOOSE c a|b")
    text = text.replace(json.loads(drawn(0))["ranks"][1], "WRITE s v if=c:a")
    (document,) = spec.read(text, "made", ReadOptions())
    model = api.models(document)("buffered", 1)
    assert model is not None

    assert not [*every(model.frame.run)]
    with pytest.raises(Rejected, match="several times"):
        Choices(lay(module.schedule_of(api.as_run(document)), 1))
