"""The suite for engines: the three of pipeproof pass it, and engines that are wrong do not."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from pipeproof import api
from pipeproof.engines import graph
from pipeproof.ir.transport import NAMED
from pipeproof.proofs import agreement
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.logic import Order, Rule
from pipeproof.semantics.model import Graph, Model
from pipeproof.testing import conformance
from pipeproof.testing._brute import Brute
from pipeproof.testing.conformance import Case, Decide
from pipeproof.verdict.decision import Broken, Decision

CASES = conformance.cases()
BY_NAME = {each.name: each for each in CASES}
WRITTEN = [each for each in CASES if each.told is not None]
CODES = [rule.code for rule in api.rules() if not rule.warns]
CHEAP = [
    each if not number % 5 else pytest.param(each, marks=pytest.mark.slow, id=each.name)
    for number, each in enumerate(CASES)
]


# ---- the engines of pipeproof


@pytest.mark.parametrize("name", ["graph", "explore"])
@pytest.mark.parametrize("low", range(0, len(CASES), 40))
def test_an_engine_finds_what_there_is(name: str, low: int) -> None:
    for case in CASES[low : low + 40]:
        assert conformance.check(agreement.engine(name), case, complete=True) == ()


@pytest.mark.parametrize("case", CHEAP, ids=str)
def test_the_solver_finds_what_there_is(case: Case) -> None:
    assert conformance.check(agreement.engine("smt"), case, complete=True) == ()


@pytest.mark.slow
@pytest.mark.parametrize("low", range(60, 1_060, 100))
def test_engines_find_what_a_look_at_every_state_finds(low: int) -> None:
    for case in conformance.drawn(range(low, low + 100)):
        for name in ("graph", "explore"):
            assert conformance.check(agreement.engine(name), case, complete=True) == ()


# ---- the cases


def test_no_two_cases_have_one_name() -> None:
    assert len(BY_NAME) == len(CASES)
    assert str(CASES[0]) == CASES[0].name


@pytest.mark.parametrize("code", CODES)
def test_every_rule_has_a_case_that_breaks_it_and_one_that_does_not(code: str) -> None:
    assert code in str(BY_NAME[f"{code} illegal"].told)
    assert BY_NAME[f"{code} legal"].told == ""


def test_every_transport_has_a_case_that_is_legal_and_one_that_is_not() -> None:
    for name in NAMED:
        told = [each.told for each in CASES if each.name.endswith(f", {name}")]

        assert "" in told
        assert any(told)


@pytest.mark.parametrize("low", range(0, len(WRITTEN), 40))
def test_what_is_written_is_what_a_look_at_every_state_finds(low: int) -> None:
    seen = 0
    for case in WRITTEN[low : low + 40]:
        if case.model.events <= 32 and not case.model.frame.transport.weak:
            assert conformance.check(graph.decide, case) == ()
            assert conformance.check(graph.decide, Case(case.name, case.text)) == ()
            seen += 1
    assert seen > 5


def test_drawn_schedules_break_many_rules_and_many_are_legal() -> None:
    told = [{b.rule.code for b in graph.decide(c.model, c.rules).broken} for c in CASES[-60:]]

    assert sum(not each for each in told) > 15
    assert len(set[str]().union(*told)) > 8


def test_the_same_seed_draws_the_same_schedule() -> None:
    assert conformance.drawn([7])[0].text == conformance.drawn([7])[0].text
    assert conformance.drawn([7])[0].text != conformance.drawn([8])[0].text


def test_a_look_at_every_state_counts_what_comes_before_in_every_execution() -> None:
    """The receive starts anywhere; when it is done, the send has started and been drained."""
    model = BY_NAME["PP401 legal"].model
    forward = Finding((Spot(6, 3),), {})

    assert Brute(model).cost(forward) == 7


# ---- engines that are wrong


def changed(change: Callable[[Model, Decision], Decision]) -> Decide:
    """The first engine, with something changed of what it says."""

    def decide(model: Model, rules: tuple[Rule, ...]) -> Decision:
        return change(model, graph.decide(model, rules))

    return decide


class Unbounded(Model):
    """A model without thresholds."""

    def graph(self, order: Order) -> Graph:
        return super().graph(order)._replace(credits=())


def without_thresholds(model: Model, rules: tuple[Rule, ...]) -> Decision:
    frame = model.frame
    return graph.decide(Unbounded(frame.run, frame.transport, frame.waits), rules)


def always_proves(_: Model, found: Decision) -> Decision:
    return found._replace(broken=(), complete=True)


def finds_no_more_than_one(_: Model, found: Decision) -> Decision:
    return found._replace(broken=found.broken[:1])


def finds_one_more(model: Model, found: Decision) -> Decision:
    (rule,) = (each for each in api.rules() if each.code == "PP401")
    extra = Broken(rule, Finding((Spot(0, 0),), {}), 0, np.zeros(0, np.int64), reached=False)
    del model
    return found._replace(broken=(extra, *found.broken))


def shows_it_backwards(_: Model, found: Decision) -> Decision:
    return found._replace(broken=tuple(b._replace(trace=b.trace[::-1]) for b in found.broken))


def shows_nothing(_: Model, found: Decision) -> Decision:
    empty = np.zeros(0, np.int64)
    return found._replace(broken=tuple(b._replace(trace=empty) for b in found.broken))


def tells_the_last_first(_: Model, found: Decision) -> Decision:
    return found._replace(broken=found.broken[::-1])


def counts_one_event_more(_: Model, found: Decision) -> Decision:
    return found._replace(broken=tuple(b._replace(cost=b.cost + 1) for b in found.broken))


def says_that_it_is_stuck(_: Model, found: Decision) -> Decision:
    return found._replace(complete=False)


def answers_what_nobody_asked(_: Model, found: Decision) -> Decision:
    return found._replace(unknown={"PP302": "who knows"})


def counts_no_instances(_: Model, found: Decision) -> Decision:
    return found._replace(instances={})


WRONG = {
    "always proves": (changed(always_proves), "PP301 r0.0 r1.0: it is broken there"),
    "drops thresholds": (without_thresholds, "PP301 r0.2 r1.0: it is broken there"),
    "leaves out a place": (changed(finds_no_more_than_one), "the engine does not find it"),
    "adds a place": (changed(finds_one_more), "PP401 r0.0: it holds there"),
    "shows it backwards": (changed(shows_it_backwards), "does not replay"),
    "shows nothing": (changed(shows_nothing), "no execution shows it"),
    "tells the last first": (changed(tells_the_last_first), "in order"),
    "counts an event more": (changed(counts_one_event_more), "events before it, not"),
    "says that it is stuck": (changed(says_that_it_is_stuck), "everything happens"),
    "answers what nobody asked": (changed(answers_what_nobody_asked), "nobody asked for it"),
    "counts no instances": (changed(counts_no_instances), "how many instances"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_engine_that_is_wrong_fails(name: str) -> None:
    decide, why = WRONG[name]

    assert any(why in failure(decide, case) for case in reversed(CASES))


def failure(decide: Decide, case: Case) -> str:
    """What is said where an engine fails a case; nothing where it passes."""
    try:
        conformance.check(decide, case)
    except AssertionError as error:
        return str(error)
    return ""


def asleep(model: Model, rules: tuple[Rule, ...]) -> Decision:
    del model
    why = dict.fromkeys((rule.code for rule in rules), "it is late")
    return Decision("asleep", dict.fromkeys(why, 0), (), complete=False, unknown=why)


def test_what_an_engine_leaves_open_is_returned() -> None:
    case = BY_NAME["PP301 illegal"]

    assert conformance.check(asleep, case) == tuple(CODES)


def test_what_an_engine_leaves_open_fails_where_all_is_asked_for() -> None:
    case = BY_NAME["PP301 illegal"]

    with pytest.raises(AssertionError, match="PP301: it is left open: it is late"):
        conformance.check(asleep, case, complete=True)


def test_a_failure_says_which_case_which_engine_and_what_stands_there() -> None:
    case = BY_NAME["PP301 illegal"]

    with pytest.raises(AssertionError) as caught:
        conformance.check(changed(always_proves), case)
    said = str(caught.value)
    assert said.startswith("PP301 illegal: graph differs\n")
    assert case.text in said


def test_neither_torch_nor_a_solver_is_imported() -> None:
    code = (
        "import sys; from pipeproof.testing import conformance as c; "
        "from pipeproof.engines import graph; c.check(graph.decide, c.cases()[0]); "
        "print({'torch', 'z3', 'networkx'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603

    assert run.stdout.strip() == "set()"
