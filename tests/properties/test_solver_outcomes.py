"""The solver over all outcomes of choices: few questions, each outcome decided as by itself."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import z3

from pipeproof.engines import smt
from pipeproof.engines._smt_guarded import Booleans
from pipeproof.engines._smt_orders import WEAK
from pipeproof.engines.smt import LIMITS, Limits, decide, decide_outcomes
from pipeproof.semantics.choices import Settled
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Decision
from tests.engines.choosing import choosing
from tests.engines.stored import HIDDEN, WEAK_C
from tests.semantics.made import model, places, rules


def asked_of(
    monkeypatch: pytest.MonkeyPatch, some: list[Settled], *codes: str
) -> tuple[tuple[Decision, ...], int]:
    """What is decided of all outcomes, and how often the solver was asked."""
    asked = 0
    check = smt._Solver.check

    def counted(self: smt._Solver, solver: z3.Solver, literals: Sequence[z3.BoolRef]) -> bool:
        nonlocal asked
        asked += 1
        return check(self, solver, literals)

    with monkeypatch.context() as patch:
        patch.setattr(smt._Solver, "check", counted)
        return decide_outcomes(some, rules(*codes)), asked


def chosen(*taken: str) -> tuple[str, str]:
    """A pipeline in which microbatch m is sent on if its choice says so."""
    left = [f"CHOOSE q{m} yes|no" for m in range(len(taken))]
    right: list[str] = []
    for m, each in enumerate(taken):
        left += [f"0F{m} if=q{m}:yes", f"SEND F0.{m} to=1 if=q{m}:yes"]
        right += [f"RECV F0.{m} from=0 if=q{m}:{each}", f"1F{m} if=q{m}:yes"]
    return "; ".join(left), "; ".join(right)


def test_what_no_outcome_breaks_takes_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    some = choosing(*chosen("yes", "yes", "yes", "yes"))
    alone = sum(asked_of(monkeypatch, [each], "PP401")[1] for each in some)
    found, asked = asked_of(monkeypatch, some, "PP401")

    assert len(some) == 16
    assert all(not each.broken and each.complete for each in found)
    assert (asked, alone) == (2, 48)


def test_only_the_outcomes_that_break_a_rule_are_refuted() -> None:
    late = "CHOOSE p a|b; CHOOSE q a|b; WRITE s v if=p:a; 0F0; USE s v if=q:a"
    early = "CHOOSE p a|b; CHOOSE q a|b; RECV v from=1 h=x buf=s if=p:a; USE s v if=q:b; WAIT x"
    for program, places_ in ((late, ()), (early, ("a", "b"))):
        some = choosing(program.replace("WAIT x", "WAIT x if=p:a"), "SEND v to=0 if=p:a")
        found = decide_outcomes(some, rules("PP501"))
        broken = [
            tuple(what for _, what in each.picked)
            for each, decision in zip(some, found, strict=True)
            if decision.broken
        ]

        assert broken == [places_] * bool(places_)


def test_a_deadlock_of_one_outcome_is_shown_in_its_own_events() -> None:
    first = "CHOOSE q a|b; SEND F0.0 to=1 if=q:a; RECV B1.0 from=1; SEND F0.0 to=1 if=q:b"
    some = choosing(first, "SEND B1.0 to=0; RECV F0.0 from=0", transport="rendezvous")
    found = decide_outcomes(some, rules("PP301"))
    (broken,) = found[0].broken

    assert [each.complete for each in found] == [False, True]
    assert places(some[0].model.frame, broken.finding) == ["r0.1 r1.0"]
    replay.check(some[0].model, broken)


def test_an_alternative_that_is_dropped_changes_what_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = choosing("CHOOSE q a|b; RECV v from=1 h=x buf=s; WAIT x if=q:a; USE s v", "SEND v to=0")
    wanted = [len(each.broken) for each in decide_outcomes(some, rules("PP501"))]
    clauses = Booleans.clauses
    monkeypatch.setattr(Booleans, "clauses", lambda self: (*clauses(self), "(not c0_1)"))
    found = [len(each.broken) for each in decide_outcomes(some, rules("PP501"))]

    assert wanted == [0, 1]
    assert found == [0, 0]


def test_outcomes_beyond_the_budget_are_decided_one_by_one() -> None:
    some = choosing(*chosen("yes", "yes", "no"))
    for limits in (Limits(total=0), Limits(question=1), Limits(guards=3), Limits(total=30_000)):
        found = decide_outcomes(some, rules(), limits)

        assert [[(e.rule.code, e.finding, e.cost) for e in each.broken] for each in found] == [
            [(e.rule.code, e.finding, e.cost) for e in decide(each.model, rules(), limits).broken]
            for each in some
        ]
        assert [dict(each.unknown) for each in found] == [
            dict(decide(each.model, rules(), limits).unknown) for each in some
        ]


def test_outcomes_with_weak_communicators_are_decided_one_by_one() -> None:
    made = [Settled(model(*HIDDEN, under=WEAK_C, fragment=True), (("q", x),)) for x in "ab"]

    assert [dict(each.unknown) for each in decide_outcomes(made, rules("PP501"))] == [
        {"PP501": WEAK},
        {"PP501": WEAK},
    ]


def test_a_formula_of_outcomes_is_true_in_these_and_no_others() -> None:
    drawn = np.random.default_rng(0)
    shapes = itertools.product(["a", "b", "c"], ["a", "b"], ["a", "b"])
    picked = [tuple(zip("pqr", each, strict=True)) for each in shapes]
    picked = [each[:2] if dict(each)["p"] == "c" else each for each in picked]  # r is not chosen
    booleans = Booleans(list(dict.fromkeys(picked))[:9])
    script = smt._Solver(LIMITS).script()
    script.add(list(booleans.clauses()))
    for _ in range(60):
        among = drawn.random(9) < drawn.choice([0.4, 0.8, 1.0])
        holds = among & (drawn.random(9) < 0.5)
        formula = booleans.where(holds, among)
        script.add(booleans.definitions())
        for outcome in np.flatnonzero(among).tolist():
            given = booleans.literals(outcome)
            if formula in {"true", "false"}:
                assert holds[outcome] == (formula == "true")
                continue
            assert script.check([*given, formula]) == holds[outcome]
            assert script.check([*given, f"(not {formula})"]) != holds[outcome]
