"""What rests on a solver's word alone is not told as proved."""

from collections.abc import Callable

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.errors import DisagreementError
from pipeproof.proofs import agreement
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import TransportVerdict
from tests.semantics.made import CROSSED, PASSED_ON, text

LEGAL = text(*PASSED_ON, microbatches=1, fragment=True, transport="rendezvous")
STUCK = text(*CROSSED, microbatches=1, fragment=True, transport="rendezvous")
COUNTED = text(  # by credits, 0F2 starts when one of the two activations has left
    "0F0; SEND F0.0 to=1 h=x; 0F1; SEND F0.1 to=1 h=x; SEND t to=1; 0F2",
    "RECV F0.0 from=0 h=x; RECV F0.1 from=0 h=x; RECV t from=0",
    microbatches=3,
    fragment=True,
    sizes={"F": "1MiB"},
    bounds={"memory": "2MiB"},
    transport={"completion": "buffered", "capacity": 2, "match": "tag"},
)


def by_smt(spec: str, engine: str = "smt") -> TransportVerdict:
    (found,) = judge_text(spec, "made", Asked(engine=engine)).transports
    return found


def put(monkeypatch: pytest.MonkeyPatch, change: Callable[[str, Decision], Decision]) -> None:
    real = agreement.engine

    def chosen(name: str) -> agreement.Decide:
        def decide(model: Model, rules: tuple[Rule, ...]) -> Decision:
            return change(name, real(name)(model, rules))

        return decide

    monkeypatch.setattr(agreement, "engine", chosen)


def silent(*names: str) -> Callable[[str, Decision], Decision]:
    """Engines as they are, but that those of these names leave every rule open."""

    def change(name: str, found: Decision) -> Decision:
        why = dict.fromkeys(found.instances, "asleep")
        return found._replace(broken=(), unknown=why) if name in names else found

    return change


def test_what_the_solver_proves_is_confirmed_and_both_engines_are_named() -> None:
    found = by_smt(LEGAL)

    assert (found.outcome.value, found.engine) == ("proved", "smt, graph")


def test_what_the_first_leaves_open_is_asked_of_the_explorer() -> None:
    found = by_smt(COUNTED)

    assert (found.outcome.value, found.engine) == ("proved", "smt, graph, explore")


def test_what_no_second_engine_decides_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, silent("graph", "explore"))
    found = by_smt(LEGAL)

    assert found.outcome.value == "unknown"
    assert {each.why for each in found.unknown} == {agreement.ALONE}


def test_no_second_word_is_asked_for_a_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, silent("graph", "explore"))
    found = by_smt(STUCK)

    assert found.outcome.value == "refuted"
    assert [each.rule for each in found.violations] == ["PP301"]


def test_a_second_engine_that_differs_makes_nobody_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def blind(name: str, found: Decision) -> Decision:
        return found._replace(broken=()) if name == "smt" else found

    put(monkeypatch, blind)

    with pytest.raises(DisagreementError, match="PP301 deadlock: smt says that it holds"):
        by_smt(STUCK)


def test_another_engine_is_believed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, silent("graph", "smt"))
    found = by_smt(LEGAL, "explore")

    assert (found.outcome.value, found.engine) == ("proved", "explore")


@pytest.mark.parametrize(("asleep", "outcome"), [("smt", "proved"), ("explore", "unknown")])
def test_of_all_engines_the_solver_alone_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, asleep: str, outcome: str
) -> None:
    """The first engine leaves PP506 open here."""
    put(monkeypatch, silent(asleep))
    found = by_smt(COUNTED, "all")

    assert found.outcome.value == outcome
    assert [(each.rule, each.why) for each in found.unknown] == (
        [] if outcome == "proved" else [("PP506", agreement.ALONE)]
    )
