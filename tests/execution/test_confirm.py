from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

import pytest

from pipeproof.errors import UsageError
from pipeproof.execution._events import Events as Read
from pipeproof.execution.confirm import CONFIRMABLE, Answer, Claim, confirm
from pipeproof.execution.orders import Events, extended
from pipeproof.execution.replayer import set_up
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate, names
from pipeproof.verdict.telling import trace
from pipeproof.verdict.verdict import TraceStep
from tests.execution.moved import MOVES, moved
from tests.execution.played import SPECS, answers, claims, document, models, order, ran
from tests.interpreter.mutations import RULES, mutants
from tests.semantics import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEGAL = sorted((SPECS / "legal").glob("*.yaml"))
ILLEGAL = sorted((SPECS / "illegal").glob("*.yaml"))
OUTSIDE = {  # legal specs that no witness can run, and why
    "two-updates-behind-fixed.yaml": "mixes versions",
}
PASSED = (
    "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0; 0STEP",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0; 1STEP",
)
MUTATED = sorted(set(RULES) & set(CONFIRMABLE))
GRID = [
    (name, ranks, microbatches, stages)
    for name in names()
    for ranks, microbatches, stages in ((1, 1, 1), (2, 2, 1), (2, 4, 2), (3, 6, 1))
]


def known(name: str, ranks: int, microbatches: int, stages: int) -> Document | None:
    try:
        made_ = generate(name, ranks=ranks, microbatches=microbatches, stages_per_rank=stages)
    except UsageError:
        return None
    return Document(name, made_, OnePlace())


@pytest.mark.parametrize("name", names())
def test_known_schedules_are_bitwise_the_unsplit_model(name: str) -> None:
    shapes = [shape for shape in GRID if shape[0] == name]
    read = [each for shape in shapes if (each := known(*shape)) is not None]

    found = [one for seed, each in enumerate(read) for one in ran(each, seed, transports=1)]

    assert found
    assert not [one for one in found if one.wrong or one.ratio]
    assert all(one.compared for one in found)


@pytest.mark.slow
def test_five_hundred_legal_schedules_are_bitwise_the_unsplit_model() -> None:
    shapes = (
        (name, ranks, microbatches, stages)
        for microbatches in (1, 2, 3, 4, 5, 6, 8)
        for ranks in (1, 2, 3, 4)
        for stages in (1, 2)
        for name in names()
    )
    read = [each for shape in shapes if (each := known(*shape)) is not None]

    found = [one for seed in range(2) for each in read for one in ran(each, seed, transports=1)]

    assert len(found) >= 500
    assert not [one.wrong for one in found if one.wrong]


@pytest.mark.parametrize("witness", ["transformer", "batchnorm", "dropout"])
def test_other_witnesses_stay_within_what_rounding_allows(witness: str) -> None:
    read = [known("1f1b", 2, 4, 1), known("interleaved_zero_bubble", 2, 4, 2)]

    found = [one for each in read if each is not None for one in ran(each, 5, witness, 1)]

    assert len(found) == 2
    assert not [one.wrong for one in found if one.wrong]
    assert all(one.ratio <= 1 for one in found)


def test_one_microbatch_is_the_fewest_and_bitwise_the_unsplit_model() -> None:
    shapes = [(name, ranks, 1, 1) for name in ("gpipe", "1f1b") for ranks in (1, 2)]
    read = [each for shape in shapes if (each := known(*shape)) is not None]

    found = [one for each in read for one in ran(each, transports=1)]

    assert len(found) >= 2
    assert not [one for one in found if one.wrong or one.ratio]


def test_unequal_token_counts_and_a_smaller_last_microbatch_are_bitwise() -> None:
    tokens = {"microbatches": 3, "gradients": {"coefficients": {"tokens": [6, 4, 2]}}}
    shares = made.text("0F0; 0F1; 0F2; 0B1 c=1/3; 0B0 c=1/2; 0B2 c=1/6; 0STEP", **tokens)
    alike = made.text("0F0; 0F1; 0F2; 0B1; 0B0; 0B2; 0SCALE by=1/3; 0STEP", **tokens)

    (found,) = ran(document(shares), transports=1)
    (wrong,) = ran(document(alike), transports=1)

    assert not found.wrong
    assert found.ratio == 0
    assert wrong.wrong.startswith("0STEP: the gradient is not what the step asks for: holds 1/3")


def test_an_illegal_transition_comes_before_any_number_differs() -> None:
    late = []
    for path in ILLEGAL[::7]:
        for model, claim in claims(path.read_text()):
            if claim.rule not in CONFIRMABLE or not claim.reached:
                continue
            replayer = set_up(model.frame.run, model.frame.transport.match)
            events = Events(model.events, model.frame.first_transfer)
            begun = tuple(each for each in claim.trace if isinstance(each, int))
            replayer.play((*begun, *extended(model.happens_before, events, begun)))
            first, differing = replayer.first, replayer.differing
            if differing is not None and (first is None or first.turn > differing.turn):
                late.append((path.name, claim))
    assert not late


def test_another_order_of_accumulation_is_within_rounding_and_not_bitwise() -> None:
    text = made.text("0F0; 0F1; 0F2; 0B2; 0B0; 0B1", microbatches=3)

    ratios = [ran(document(text), seed, "transformer")[0].ratio for seed in range(4)]

    assert 0 < max(ratios) <= 1


def test_statistics_in_another_order_are_told_and_legal() -> None:
    other = ran(document(made.text("0F1; 0F0; 0B0; 0B1", microbatches=2)), 0, "batchnorm")[0]
    usual = ran(document(made.text("0F0; 0F1; 0B0; 0B1", microbatches=2)), 0, "batchnorm")[0]

    assert not other.wrong
    assert other.notes == ("legal, other statistics: stage 0 runs its forwards in another order",)
    assert not usual.notes


def test_recomputation_with_the_same_random_state_is_exact() -> None:
    again = made.text("0F0; 0F1; 0R0; 0B0; 0R1; 0B1", microbatches=2)

    for witness in ("dropout", "batchnorm", "transformer", "linear"):
        (found,) = {each.wrong for each in ran(document(again), 1, witness)}
        assert not found


@pytest.mark.parametrize("half", [0, 1])
def test_legal_specs_run_as_the_unsplit_model(half: int) -> None:
    for path in LEGAL[half::2]:
        if path.name not in OUTSIDE:
            found = ran(document(path.read_text(), path.name), len(path.name))
            assert not [one.wrong for one in found if one.wrong], path.name


@pytest.mark.parametrize("part", [0, 1, 2])
def test_counterexamples_to_shipped_specs_are_confirmed(part: int) -> None:
    for path in ILLEGAL[part::3]:
        told = set()
        for claim, found in answers(path.read_text(), once=True):
            unseen = claim.rule not in CONFIRMABLE
            wanted = Answer.NOT_OBSERVABLE if unseen else Answer.CONFIRMED
            assert found.answer is wanted, (path.name, claim, found.why)
            told.add(claim.rule)
        assert told, path.name


@pytest.mark.parametrize("rule", MUTATED)
def test_mutants_are_confirmed_and_their_originals_run_clean(rule: str) -> None:
    found = next(answer for number in (1, 2, 3) if (answer := {*tally(rule, number, once=True)}))

    assert found == {Answer.CONFIRMED}


@pytest.mark.slow
@pytest.mark.parametrize("rule", MUTATED)
def test_of_fifty_counterexamples_to_a_rule_nearly_all_are_confirmed(
    rule: str, record_property: Callable[[str, object], None]
) -> None:
    count = Counter(islice(tally(rule, 300), 50))

    record_property("counts", {answer.value: number for answer, number in count.items()})
    assert sum(count.values()) == 50
    assert count[Answer.CONFIRMED] >= 0.95 * sum(count.values())
    assert not count[Answer.NOT_REPRODUCED]


@pytest.mark.parametrize("rule", sorted(MOVES))
def test_instructions_out_of_place_are_confirmed(rule: str) -> None:
    found = [one for text in moved(rule, 1) for _, one in answers(text, rule, once=True)]

    assert {one.answer for one in found} == {Answer.CONFIRMED}


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(MOVES))
def test_fifty_instructions_out_of_place_are_confirmed(
    rule: str, record_property: Callable[[str, object], None]
) -> None:
    texts = list(moved(rule, 50))
    count = Counter(one.answer for text in texts for _, one in answers(text, rule))

    record_property("counts", {answer.value: number for answer, number in count.items()})
    assert len(texts) == 50
    assert count[Answer.CONFIRMED] >= 0.95 * sum(count.values())
    assert not count[Answer.NOT_REPRODUCED]


def tally(rule: str, number: int, *, once: bool = False) -> Iterator[Answer]:
    """What becomes of counterexamples that are reached, of mutants whose originals run clean."""
    for mutant in mutants(rule, number):
        if mutant.mutation.name == "marked_wrong" and "REDUCE" in mutant.text:
            continue  # beside a REDUCE a mark changes no number
        assert not [each.wrong for each in ran(document(mutant.original)) if each.wrong]
        found = answers(mutant.text, rule, once=once)
        yield from (each.answer for claim, each in found if claim.reached)


@pytest.mark.parametrize("rule", ["PP202", "PP401", "PP502", "PP601", "PP706", "PP801"])
def test_what_is_claimed_of_a_legal_schedule_is_not_reproduced(rule: str) -> None:
    text = made.text(*PASSED, transport="buffered")
    (model,) = models(document(text))
    places = tuple((rank, position) for rank in (0, 1) for position in range(6))

    found = confirm(
        model.frame.run,
        model.frame.transport.match,
        model.happens_before,
        Claim(rule, places, (0, 1)),
    )

    assert found.answer is Answer.NOT_REPRODUCED
    assert found.why == "nothing illegal was met at its places"


BEFORE = [
    ("0STEP; 0F0; 0B0; 0REDUCE", {"reduce": "required"}, {"PP705", "PP706"}),
    ("0STEP; 0F0; 0B0; 0NORM ranks=0", {"norm": "all"}, {"PP706", "PP709"}),
    ("0STEP; 0F0; 0B0; 0STEP", {}, {"PP703", "PP706"}),
    ("0STALE; 0STEP; 0F0; 0B0", {}, {"PP706", "PP708"}),
    ("0STEP param=a; 0F0; 0B0 param=a; 0B0 param=b; 0STEP param=b", {}, {"PP706"}),
]


@pytest.mark.parametrize(("program", "gradients", "rules"), BEFORE)
@pytest.mark.parametrize("policy", ["flush", "latest", "stash"])
def test_an_update_before_everything_of_its_step_is_confirmed(
    policy: str, program: str, gradients: dict[str, object], rules: set[str]
) -> None:
    text = made.text(program, weights={"policy": policy}, gradients=gradients)

    found = [(claim.rule, one.answer) for claim, one in answers(text) if claim.rule > "PP7"]

    assert {rule for rule, _ in found} == rules
    assert {answer for _, answer in found} == {Answer.CONFIRMED}


def test_a_required_reduction_of_nothing_is_missed_and_changes_no_number() -> None:
    weights = {"policy": "latest", "updates": "microbatch"}
    keys = {"weights": weights, "gradients": {"reduce": "required"}, "transport": "buffered"}
    rest = "0F0; 0B0; 0REDUCE; 0STEP"

    ((claim, found),) = answers(made.text(f"0STEP; {rest}", **keys))
    (legal,) = ran(document(made.text(f"0REDUCE; 0ZERO; 0STEP; {rest}", **keys)))

    assert (claim.rule, found.answer) == ("PP705", Answer.NOT_OBSERVABLE)
    assert found.why.endswith(
        "none, and nothing was added instead of a reduction, and the numbers are the same"
    )
    assert not legal.wrong


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("0F0; 0B0; 0REDUCE; 0STEP", {"gradients": {"reduce": "required"}}),
        ("0STEP; 0ROLLBACK; 0F0; 0B0; 0STEP", {}),
        ("0SKIP; 0F0; 0B0", {}),
        ("0SKIP; 0F1; 0B1; 0STEP", {"fragment": True, "steps": 2}),
        ("0STEP; 0F1; 0B1; 0STEP", {"fragment": True, "steps": 2}),
        ("0STEP; 0F0; 0B0; 0STEP", {"weights": {"policy": "latest", "updates": "microbatch"}}),
    ],
)
def test_a_legal_update_is_not_taken_for_an_early_one(
    program: str, keys: dict[str, object]
) -> None:
    (model,) = models(document(made.text(program, **{**keys, "transport": "buffered"})))
    places = tuple((0, position) for position in range(6))
    (clean,) = ran(document(made.text(program, **{**keys, "transport": "buffered"})))

    assert not clean.wrong
    for rule in ("PP703", "PP705", "PP706"):
        match, claim = model.frame.transport.match, Claim(rule, places, ())
        found = confirm(model.frame.run, match, model.happens_before, claim)
        assert found == (Answer.NOT_REPRODUCED, "nothing illegal was met at its places")


def test_an_execution_that_cannot_happen_shows_nothing() -> None:
    (model,) = models(document(made.text(*PASSED, transport="buffered")))
    match, graph = model.frame.transport.match, model.happens_before
    forward = 2 * int(model.frame.run.rank_start[1]) + 2  # 1F0, before its receive has begun

    found = confirm(model.frame.run, match, graph, Claim("PP401", ((1, 1),), (forward,)))

    assert found.answer is Answer.NOT_REPRODUCED
    assert found.why.endswith("cannot happen where the execution says that it does")


@pytest.mark.parametrize("part", [0, 1])
def test_what_is_made_up_of_legal_schedules_is_never_confirmed(part: int) -> None:
    rng = Random(part)
    texts = [path.read_text() for path in LEGAL if path.name not in OUTSIDE]
    for text in rng.sample(texts, 10):
        model = rng.choice([*models(document(text))])
        ops = model.frame.ops
        places = {
            (int(ops.rank[row]), int(ops.position[row]))
            for row in rng.sample(range(len(ops)), min(6, len(ops)))
        }
        happened = order(model, part)
        begun = list(happened[: rng.randrange(len(happened))])
        if rng.random() < 0.5:
            rng.shuffle(begun)
        rule = rng.choice([*CONFIRMABLE, "PP301", "PP205"])
        claim = Claim(rule, tuple(places), tuple(begun), rng.random() < 0.8)

        found = confirm(model.frame.run, model.frame.transport.match, model.happens_before, claim)

        assert found.answer is not Answer.CONFIRMED, (rule, found.why, text)


def test_a_trace_that_the_schedule_does_not_have_is_not_reproduced() -> None:
    (model,) = models(document(made.text(*PASSED, transport="buffered")))
    steps = (TraceStep("7F7", "start", 0, 9),)

    found = confirm(
        model.frame.run,
        model.frame.transport.match,
        model.happens_before,
        Claim("PP401", ((0, 0),), steps),
    )

    assert found.answer is Answer.NOT_REPRODUCED
    assert found.why == "the schedule has no start of 7F7 at 9 of rank 0"


def test_a_trace_in_words_is_the_same_execution() -> None:
    for path in ILLEGAL[::6]:
        for model, claim in claims(path.read_text()):
            events = Read(model.frame.run, model.frame.transport.match)
            numbers = [each for each in claim.trace if isinstance(each, int)]
            assert list(events.of_steps(trace(model, numbers))) == numbers, path.name


def test_a_rule_that_no_number_depends_on_is_not_observable() -> None:
    (model,) = models(document(made.text(*PASSED, transport="buffered")))

    found = confirm(
        model.frame.run,
        model.frame.transport.match,
        model.happens_before,
        Claim("PP506", ((0, 0),), (0,)),
    )

    assert found == (Answer.NOT_OBSERVABLE, "no number depends on it")


def test_a_message_that_nobody_receives_is_taken_in_the_next_step() -> None:
    send, receive = "SEND F0.0 to=1; SEND F0.1 to=1", "RECV F0.0 from=0; 1F0"
    keys = {"fragment": True, "microbatches": 2, "transport": "buffered"}
    text = made.text(f"0F0; 0F1; {send}", receive, **keys)

    (found,) = [each for _, each in answers(text, "PP303")]

    assert found.answer is Answer.CONFIRMED
    assert found.why == (
        "SEND F0.1 to=1: the message is left in its channel: F0.1 instead of F0.2 of the next "
        "step, seen in the numbers"
    )


def test_a_message_without_any_receive_stands_nowhere_on_its_rank() -> None:
    keys = {"fragment": True, "stages": 2, "transport": "buffered"}
    text = made.text("0F0; SEND F0.0 to=1", "LOAD X.0", **keys)

    (found,) = [each for _, each in answers(text, "PP303")]

    assert found.answer is Answer.CONFIRMED
    assert "left in its channel: F0.0 instead of a receive on rank 1" in found.why
