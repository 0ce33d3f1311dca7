"""Engines that look at all outcomes at once are asked once, and still by every name."""

from collections.abc import Callable, Sequence

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.cli import run
from pipeproof.engines import _explore_choices, explore, smt
from pipeproof.engines._smt_guarded import Booleans
from pipeproof.errors import DisagreementError
from pipeproof.proofs.agreement import USUAL
from pipeproof.proofs.asked import Effort
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.logic import Rule
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import Outcome, TransportVerdict
from tests.semantics.made import text

Decide = Callable[[Sequence[Settled], tuple[Rule, ...]], tuple[Decision, ...]]

LEGAL = "CHOOSE q step|skip; 0F0; 0B0; 0STEP if=q:step; 0SKIP if=q:skip"
LATE = ("CHOOSE q a|b; RECV v from=1 h=x buf=s; WAIT x if=q:a; USE s v", "SEND v to=0")
STUCK = ("CHOOSE q a|b; 0F0; RECV v from=1 if=q:b", "")


def judged(
    *programs: str,
    engine: str = "graph",
    fragment: bool = True,
    effort: Effort = USUAL,
    transport: str = "buffered",
) -> TransportVerdict:
    spec = text(*programs, fragment=fragment, transport=transport)
    (found,) = judge_text(spec, "made", Asked(engine=engine, effort=effort)).transports
    return found


def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which engine is asked of how many outcomes at once, from now on."""
    asked: list[tuple[str, int]] = []

    def watched(name: str, decide: Decide) -> None:
        def decided(some: Sequence[Settled], rules: tuple[Rule, ...]) -> tuple[Decision, ...]:
            asked.append((name, len(some)))
            return decide(some, rules)

        monkeypatch.setattr(f"pipeproof.engines.{name}.decide_outcomes", decided)

    watched("smt", smt.decide_outcomes)
    watched("explore", explore.decide_outcomes)
    return asked


@pytest.mark.parametrize(
    ("engine", "wanted"),
    [
        ("graph", []),
        ("smt", [("smt", 2)]),
        ("explore", [("explore", 2)]),
        ("all", [("explore", 2), ("smt", 2)]),
    ],
)
def test_the_engines_that_are_asked_for_see_all_outcomes_once(
    engine: str, wanted: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = calls(monkeypatch)
    found = judged(LEGAL, fragment=False, engine=engine)

    assert found.outcome is Outcome.PROVED
    assert found.outcomes == 2
    assert asked == wanted


@pytest.mark.parametrize("engine", ["smt", "explore", "all"])
def test_what_is_told_is_what_one_engine_tells_outcome_by_outcome(engine: str) -> None:
    for programs in (LATE, STUCK):
        one, other = judged(*programs), judged(*programs, engine=engine)

        assert [(each.rule, each.at, each.message) for each in one.violations] == [
            (each.rule, each.at, each.message) for each in other.violations
        ]


@pytest.mark.parametrize(
    "effort", [Effort(rlimit=10_000_000, states=100_000), Effort(seconds=60.0, rlimit=10_000_000)]
)
def test_with_a_budget_outcomes_are_decided_one_by_one(
    effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = calls(monkeypatch)
    found = judged(LEGAL, fragment=False, engine="all", effort=effort)

    assert (found.outcome, asked) == (Outcome.PROVED, [])


def test_an_alternative_that_the_solver_drops_is_a_disagreement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    """The solver's `q is b` is no outcome any more: it says that nothing breaks it."""
    clauses = Booleans.clauses
    monkeypatch.setattr(Booleans, "clauses", lambda self: (*clauses(self), "(not c0_1)"))

    with pytest.raises(DisagreementError, match="PP501"):
        judged(*LATE, engine="all")
    path = f"{tmp_path}/late.yaml"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text(*LATE, fragment=True, transport="buffered"))
    assert run(["check", path, "--engine", "all"]) == 4
    assert run(["check", path, "--engine", "smt"]) == 4
    assert "engines disagree on PP501" in capsys.readouterr().err


def test_a_branch_that_the_explorer_drops_is_a_disagreement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The states of the branch that is left out are never reached, as if it were stuck."""
    dividing = _explore_choices._dividing
    monkeypatch.setattr(_explore_choices, "_dividing", lambda *asked: dividing(*asked)[:1])

    first = "CHOOSE q a|b; SEND F0.0 to=1 if=q:b; RECV B1.0 from=1; SEND F0.0 to=1 if=q:a"
    second = "SEND B1.0 to=0; RECV F0.0 from=0"

    with pytest.raises(DisagreementError, match="PP301"):
        judged(first, second, engine="all", transport="rendezvous")
    found = judged(LEGAL, fragment=False, engine="explore")
    assert {each.rule for each in found.unknown} == {"PP301"}


def test_who_watches_is_told_while_outcomes_are_explored_at_once() -> None:
    seen: list[tuple[int, int]] = []
    watched = Effort(progress=lambda *at: seen.append(at))
    found = judged(LEGAL, fragment=False, engine="explore", effort=watched)

    assert found == judged(LEGAL, fragment=False, engine="explore")
    assert seen
