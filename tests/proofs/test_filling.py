"""What one engine leaves open another decides, or it is unknown."""

import subprocess
import sys

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.proofs import agreement, filling
from pipeproof.proofs.agreement import ALONE
from pipeproof.proofs.asked import Effort
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import TransportVerdict
from tests.engines.stored import credited
from tests.semantics.made import PASSED_ON, text

ABOVE = "with these guards the most that is live is only known from above"


def counted(bound: str) -> str:
    """By credits, 0F2 starts once one of the two activations before it has left."""
    return text(
        "0F0; SEND F0.0 to=1 h=x; 0F1; SEND F0.1 to=1 h=x; SEND t to=1; 0F2",
        "RECV F0.0 from=0 h=x; RECV F0.1 from=0 h=x; RECV t from=0",
        microbatches=3,
        fragment=True,
        sizes={"F": "1MiB"},
        bounds={"memory": bound},
        transport={"completion": "buffered", "capacity": 2, "match": "tag"},
    )


def judged(spec: str, effort: Effort = agreement.USUAL) -> TransportVerdict:
    (found,) = judge_text(spec, "made", Asked(effort=effort)).transports
    return found


@pytest.mark.parametrize(("bound", "outcome"), [("1MiB", "refuted"), ("2MiB", "proved")])
def test_the_explorer_decides_what_the_graph_leaves_open(bound: str, outcome: str) -> None:
    found = judged(counted(bound))

    assert (found.outcome.value, found.engine) == (outcome, "graph, explore")
    assert {each.rule for each in found.violations} <= {"PP506"}


def test_what_is_refuted_is_what_all_engines_find() -> None:
    (every,) = judge_text(counted("1MiB"), "made", Asked(engine="all")).transports
    found = judged(counted("1MiB"))

    assert [each.at for each in found.violations] == [each.at for each in every.violations]
    assert found.violations[0].trace


def test_what_the_explorer_has_no_budget_for_the_solver_refutes() -> None:
    found = judged(counted("1MiB"), Effort(states=1))

    assert (found.outcome.value, found.engine) == ("refuted", "graph, smt")


def test_what_rests_on_the_solver_alone_is_unknown() -> None:
    found = judged(counted("2MiB"), Effort(states=1))
    (open_,) = found.unknown

    assert (found.outcome.value, found.engine) == ("unknown", "graph")
    assert open_.rule == "PP506"
    assert open_.why.startswith(f"{ABOVE}; explore: the budget of 1 states ended the exploration")
    assert open_.why.endswith(f"; smt: {ALONE}")


def test_budgets_that_run_out_give_the_same_result_each_time() -> None:
    short = Effort(states=1, rlimit=1)
    first, second = judged(counted("2MiB"), short), judged(counted("2MiB"), short)

    assert first == second
    assert first.outcome.value == "unknown"
    assert "; smt: " in first.unknown[0].why


def test_a_schedule_of_many_events_is_asked_of_others_only_where_a_budget_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(filling, "_EVENTS", {"explore": 4, "smt": 4})

    assert judged(counted("1MiB")).unknown[0].why == ABOVE
    assert judged(counted("1MiB"), Effort(states=1000)).outcome.value == "refuted"
    assert judged(counted("1MiB"), Effort(rlimit=1_000_000)).outcome.value == "refuted"


def test_what_is_shown_of_a_rule_that_stays_open_stays_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = agreement.within

    def partly(effort: Effort, name: str) -> agreement.Decide:
        def decide(model: Model, rules: tuple[Rule, ...]) -> Decision:
            found = real(effort, name)(model, rules)
            return found._replace(unknown={rule.code: "left off" for rule in rules})

        return decide

    monkeypatch.setattr(agreement, "within", partly)
    found = judged(counted("1MiB"))

    assert (found.outcome.value, found.engine) == ("refuted", "graph, explore")
    assert [each.why for each in found.unknown] == [f"{ABOVE}; explore: left off; smt: left off"]


def test_nobody_else_is_asked_where_nothing_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "filled", None)

    assert judged(text(*PASSED_ON, transport="rendezvous", fragment=True)).engine == "graph"


def test_the_solver_is_loaded_only_where_the_explorer_leaves_something_open() -> None:
    code = (
        "import sys; from tests.proofs.test_filling import counted, judged; "
        "print(judged(counted('1MiB')).engine, 'z3' in sys.modules)"
    )
    done = subprocess.run(  # noqa: S603  our own
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "graph, explore False\n"


def test_every_engine_that_decided_an_outcome_is_named() -> None:
    spec = counted("1MiB").replace('"0F0;', '"CHOOSE c a|b; 0F3 if=c:b; 0F0;')
    found = judged(spec.replace("microbatches: 3", "microbatches: 4"))

    assert (found.outcomes, found.engine) == (2, "graph, explore")


def test_what_is_filled_in_is_what_all_engines_say_together() -> None:
    asked = 0
    for seed in range(25):
        spec = credited(seed)
        (every,) = judge_text(spec, "made", Asked(engine="all")).transports
        found = judged(spec)
        asked += found.engine == "graph, explore"

        assert found.outcome is every.outcome
        assert {(v.rule, v.at) for v in found.violations} == {
            (v.rule, v.at) for v in every.violations
        }
    assert asked > 5
