"""The explorer: exact counts, shortest runs, budgets, explorations taken up again."""

from dataclasses import replace

import numpy as np
import pytest

from pipeproof.engines import _explore_choices, explore
from pipeproof.engines._explore_budget import Spent
from pipeproof.engines._explore_choices import choice_system, explore_choices
from pipeproof.engines._explore_guards import System, choices, require_reducible
from pipeproof.engines.explore import (
    NAME,
    Budget,
    decide,
    decide_outcomes,
    explore_fully,
    explore_outcomes_fully,
    reduced,
)
from pipeproof.errors import InternalError
from pipeproof.ir.transport import Match, Transport
from pipeproof.semantics.choices import Beside
from pipeproof.semantics.logic import HAPPENS_BEFORE, PROGRESS
from pipeproof.semantics.model import Model
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Broken, Decision
from tests.engines.choosing import choosing
from tests.engines.naive import naive, naive_outcomes
from tests.semantics.made import (
    BUFFERED,
    CROSSED,
    PASSED_ON,
    RENDEZVOUS,
    events,
    model,
    places,
    rules,
)

CREDITS = replace(BUFFERED, capacity=2, match=Match.TAG)
WEAK = replace(RENDEZVOUS, weak=frozenset({"c"}))
ONE_F_ONE_B = (
    "0F0; SEND F0.0 to=1 h=f; 0F1; SEND F0.1 to=1 h=g; "
    "RECV B1.0 from=1; 0B0; RECV B1.1 from=1; 0B1",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0 h=b; "
    "RECV F0.1 from=0; 1F1; 1B1; SEND B1.1 to=0 h=c",
)
OUT_OF_ORDER = (
    "SEND a to=1; SEND b to=1; SEND t to=1; 0F9",
    "RECV b from=0; RECV t from=0; RECV a from=0",
)


def one_f_one_b(under: Transport | str) -> Model:
    return model(*ONE_F_ONE_B, microbatches=2, under=under)


def shown(made: Model, decision: Decision) -> list[tuple[str, list[str], int, list[str]]]:
    """What is broken, where, at what cost, and how it is shown."""
    return [
        (
            each.rule.code,
            places(made.frame, each.finding),
            each.cost,
            events(made.frame, each.trace),
        )
        for each in decision.broken
    ]


# Counts


@pytest.mark.parametrize(
    ("under", "states", "transitions", "widest"),
    [("buffered", 343, 753, 15), ("rendezvous", 216, 388, 9), ("buffered-1", 313, 664, 13)],
)
def test_all_interleavings_of_1f1b_are_counted(
    under: str, states: int, transitions: int, widest: int
) -> None:
    made = one_f_one_b(under)
    found = explore_fully(made, PROGRESS)
    counted = naive(made, made.progress)

    assert made.events == 42
    assert (found.states, found.transitions, found.widest) == (states, transitions, widest)
    assert (len(counted.states), counted.transitions) == (states, transitions)
    assert max(map(len, counted.layers)) == widest
    assert (found.layers, found.frontier, found.over) == (43, None, "")
    assert found.ends == ((1 << 42) - 1,)


def test_accesses_that_overlap_are_seen() -> None:
    made = model("0F0; SEND F0.0 to=1 h=x; 0F1; WAIT x; 0F2", "RECV F0.0 from=0; 1F0", stages=2)
    drained = int(made.frame.drained(np.asarray([0]))[0])
    accesses = np.asarray([(2, drained), (4, 5), (8, 9)])
    found = explore_fully(made, HAPPENS_BEFORE, accesses=accesses)

    assert found.overlapping == {(0, 1)}


# Shortest runs


def test_a_deadlock_is_shown_by_a_run_to_where_it_is_stuck() -> None:
    made = model("0F0; SEND F0.0 to=1; RECV B1.0 from=1", CROSSED[1])
    decision = decide(made, rules("PP301"))
    (found,) = decision.broken

    assert places(made.frame, found.finding) == ["r0.1 r1.0"]
    assert events(made.frame, found.trace) == [
        *("start r0.0", "start r1.0", "done r0.0", "start r0.1"),
    ]
    assert (found.cost, found.reached, decision.complete) == (2, True, False)


def test_a_hazard_is_shown_by_the_shortest_run_to_where_both_are_in_progress() -> None:
    made = model(
        "0F0 out=s; SEND F0.0 to=1 buf=s h=x; 0F1 out=s; WAIT x",
        "RECV F0.0 from=0; 1F0",
        microbatches=2,
    )
    (found,) = decide(made, rules("PP502")).broken

    assert events(made.frame, found.trace) == [
        *("start r0.0", "done r0.0", "start r0.1", "done r0.1", "start r0.2"),
    ]


def test_a_credit_is_freed_by_the_arrival_that_costs_least() -> None:
    made = model(*OUT_OF_ORDER, under=CREDITS, stages=1)
    (found,) = decide(made, rules("PP103")).broken
    shown = events(made.frame, found.trace)

    assert {"drained t", "arrived b"} <= set(shown)
    assert "arrived a" not in shown
    assert len(shown) == naive(made, made.happens_before).fewest(found.finding.spots[0].event, -1)


# Memory, exactly


ALL_AT_ONCE = {"sizes": {"F": "1GiB"}, "stages": 2, "fragment": True}


@pytest.mark.parametrize(
    ("bound", "reached"), [("1GiB", [True, False, False, False]), ("2GiB", [False]), ("3GiB", [])]
)
def test_what_would_be_live_is_told_behind_a_deadlock_too(bound: str, reached: list[bool]) -> None:
    made = model(
        "0F0; 0F1; SEND F0.0 to=1; RECV v from=1",
        "SEND v to=0; RECV F0.0 from=0; RECV F0.1 from=0; 1F0; 1F1",
        bounds={"memory": bound},
        microbatches=2,
        **ALL_AT_ONCE,
    )
    decision = decide(made, rules("PP506"))

    assert not decision.complete
    assert [each.reached for each in decision.broken] == reached
    assert not decision.unknown
    for broken in decision.broken:
        replay.check(made, broken)


# Budgets


def test_a_legal_schedule_breaks_nothing() -> None:
    decision = decide(model(*PASSED_ON), rules())

    assert (decision.engine, decision.broken, decision.complete) == (NAME, (), True)
    assert not decision.unknown


@pytest.mark.parametrize("budget", [Budget(states=10), Budget(seconds=0.0)])
def test_a_budget_that_ends_leaves_rules_unknown(budget: Budget) -> None:
    made = one_f_one_b("rendezvous")
    decision = decide(made, rules("PP101", "PP301", "PP401"), budget=budget)

    assert set(decision.unknown) == {"PP301", "PP401"}  # what asks for no state is decided
    assert "ended the exploration after" in decision.unknown["PP301"]
    assert not decision.complete


def test_what_was_found_within_a_budget_stays_found() -> None:
    made = model("0F0; 0F0; 0F0", "RECV v from=0", stages=1)
    decision = decide(made, rules("PP102", "PP301"), budget=Budget(states=0))

    assert {each.rule.code for each in decision.broken} == {"PP102"}
    assert set(decision.unknown) == {"PP301"}
    for broken in decision.broken:
        replay.check(made, broken)


@pytest.mark.parametrize(
    "budget", [Budget(states=100), Budget(memory=64), Budget(seconds=0.0), Budget(states=0)]
)
def test_a_full_exploration_says_what_it_left(budget: Budget) -> None:
    found = explore_fully(one_f_one_b("buffered"), PROGRESS, budget)

    assert found.states < 343
    assert found.frontier is not None
    assert found.over.startswith(("the budget of", "the time limit of"))
    assert not found.ends


def test_who_watches_is_told_states_and_layers() -> None:
    seen: list[tuple[int, int]] = []
    explore_fully(one_f_one_b("buffered"), PROGRESS, progress=lambda *at: seen.append(at))

    assert seen[:3] == [(0, 0), (1, 1), (3, 2)]
    assert seen[-1] == (342, 42)


# What the reduction rests on


def test_an_eager_step_has_no_guard_that_an_eager_step_takes_back() -> None:
    made = model("SEND v to=1 comm=c", "RECV v from=0 comm=c", under=WEAK)
    system = System(made, made.progress, weak=True)
    assert system.negated.keys() == system.deferred
    system.deferred = frozenset()

    with pytest.raises(InternalError, match="negated on eager steps"):
        system.require_reducible()


def test_a_quiescent_state_has_no_choices() -> None:
    made = one_f_one_b("buffered")
    (end,) = reduced(made).ends

    assert choices(System(made, made.progress, weak=True), end) == ()
    assert reduced(made).layers == 1


def test_the_first_is_told_first() -> None:
    made = model("0F0; 0F0", "0B0; 1B0; 1F0; 9F0", stages=2)
    found: tuple[Broken, ...] = decide(made, rules("PP101", "PP102", "PP103", "PP104")).broken

    assert [each.rule.code for each in found] == ["PP104", "PP102", "PP103"]
    assert explore.NAME == "explore"


def test_a_cost_counts_the_arrival_that_frees_a_credit() -> None:
    made = model(
        "SEND a to=1; SEND b to=1; SEND t to=1; 0F9",
        "RECV a from=0; RECV b from=0; RECV t from=0",
        f"{'WRITE q z; ' * 5}1F9",
        under=CREDITS,
        stages=2,
        placement=[0, 2],
    )
    found = decide(made, rules("PP103")).broken

    assert [(places(made.frame, b.finding), b.cost) for b in found] == [
        *((["r2.5"], 10), (["r0.3"], 11)),
    ]


def test_a_rank_without_instructions_may_hold_too_much() -> None:
    made = model(
        "0F0",
        "",
        stages=2,
        placement=[0, 1],
        sizes={"weights": ["1GiB", "4GiB"]},
        bounds={"memory": "2GiB"},
        fragment=True,
    )
    (found,) = decide(made, rules("PP506")).broken

    assert places(made.frame, found.finding) == ["r1.0"]
    replay.check(made, found)


def test_weak_messages_of_a_trace_move_where_nothing_else_can_happen() -> None:
    """Also where a collective that orders only its root keeps others longer than they need."""
    made = model(
        "[SEND v to=1 comm=c | RECV B1.2 from=3 | SEND F0.2 to=1] h=z; WAIT z",
        "RECV u from=0 comm=c h=z; WAIT z",
        "COLL k ranks=0,2 to=0 h=z; WAIT z",
        "",
        under=WEAK,
        stages=12,
        microbatches=3,
        fragment=True,
    )
    found = decide(made, rules("PP202")).broken

    assert [places(made.frame, each.finding) for each in found] == [["r0.0 r1.0"]]
    for broken in found:
        assert len(broken.trace)
        replay.check(made, broken)


# Outcomes


SMALL = [
    ("CHOOSE q a|b; 0F0 if=q:a",),
    ("CHOOSE q a|b; SEND v to=1 if=q:a; 0F0", "1F0; RECV v from=0 if=q:a; 1F1 if=q:b"),
    ("CHOOSE p a|b|c; 0F0 if=p:b; CHOOSE q a|b if=p:c; 0F1 if=q:a", "1F0 if=q:b"),
    ("RECV v from=any; 0F0; RECV v from=any", "SEND v to=0; 1F0", "SEND v to=0"),
    ("CHOOSE q a|b; SEND u to=1 if=q:a; SEND v to=1", "1F0; RECV v from=0; RECV u from=0 if=q:a"),
    (
        "0F0; SEND u to=1; SEND v to=1; CHOOSE q a|b",
        "RECV v from=0 if=q:a; RECV u from=0; 1F0 if=q:b",
    ),
]


@pytest.mark.parametrize(
    "transport", ["rendezvous", "buffered-1", "rendezvous-atomic", "nccl-edge"]
)
@pytest.mark.parametrize("programs", SMALL)
def test_all_interleavings_of_all_outcomes_are_counted(
    programs: tuple[str, ...], transport: str
) -> None:
    some = choosing(*programs, transport=transport)
    wanted, found = naive_outcomes(some), explore_outcomes_fully(some)

    assert found.complete
    assert (found.states, found.transitions) == (wanted.states, wanted.transitions)
    assert sorted((e.happened.bit_count(), e.left.bit_count()) for e in found.ends) == sorted(
        (len(happened), len(left)) for happened, left in wanted.ends
    )


def test_a_choice_of_two_is_two_steps_and_what_comes_before_is_there_once() -> None:
    """CHOOSE starts and ends; it is taken either way; 0F0 or not, and the program ends."""
    found = explore_outcomes_fully(choosing("CHOOSE q a|b; 0F0 if=q:a"))

    assert (found.states, found.transitions, len(found.ends)) == (3 + 4 + 2, 2 + 2 + 3 + 1, 2)


def test_a_full_exploration_of_outcomes_that_a_budget_ends_is_not_complete() -> None:
    assert not explore_outcomes_fully(choosing(*SMALL[1]), budget=Budget(states=5)).complete


def test_what_comes_before_the_first_choice_is_explored_once() -> None:
    before = "; ".join(f"{k}F{k}" for k in range(9))
    some = choosing(f"{before}; CHOOSE p a|b; CHOOSE q a|b; 0F1 if=p:a; 1F0 if=q:a")
    spent = Spent(Budget())
    ends = explore_choices(choice_system(Beside(some)), spent)

    assert ends is not None
    assert [end.bit_count() for end in ends] == [27, 25, 25, 23]
    assert spent.states < 50
    assert sum(each.model.events for each in some) == 100


def test_outcomes_that_a_budget_does_not_reach_are_decided_one_by_one() -> None:
    some = choosing("CHOOSE q a|b; 0F0; 1F1 if=q:a; USE s v if=q:b")
    for budget in (Budget(states=2), Budget(seconds=0.0), Budget(states=10)):
        assert [dict(each.unknown) for each in decide_outcomes(some, rules(), budget=budget)] == [
            dict(decide(each.model, rules(), budget=budget).unknown) for each in some
        ]


def test_a_branch_that_is_left_out_changes_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    some = choosing("CHOOSE q a|b; 0F0; 0F1 if=q:a; 1F0 if=q:b")
    wanted = [each.complete for each in decide_outcomes(some, rules("PP301"))]
    dividing = _explore_choices._dividing
    monkeypatch.setattr(_explore_choices, "_dividing", lambda *asked: dividing(*asked)[:1])
    found = [each.complete for each in decide_outcomes(some, rules("PP301"))]

    assert wanted == [True, True]
    assert found == [True, False]


def test_a_choice_is_no_eager_step() -> None:
    system = choice_system(Beside(choosing("CHOOSE q a|b; 0F0 if=q:a")))
    assert system.negated.keys() == system.deferred

    with pytest.raises(InternalError, match="negated on eager steps"):
        require_reducible(system.negated, frozenset())
