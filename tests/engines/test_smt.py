"""The solver: agrees with the graph engine, shows what it finds, explains, and knows its limits."""

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from pipeproof.engines import graph, smt
from pipeproof.engines._order import HappensBefore
from pipeproof.engines._smt_live import moments
from pipeproof.engines._smt_orders import SPENT, WEAK, Orders
from pipeproof.engines.smt import LIMITS, NAME, Limits, decide
from pipeproof.semantics.logic import All, Axiom, Enforced, Rel
from pipeproof.semantics.model import Model
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Broken, Decision
from tests.engines.explored import most_live, states
from tests.engines.explored import ordered as in_every_state
from tests.engines.stored import (
    CREDITS,
    HIDDEN,
    OUT_OF_ORDER,
    WEAK_C,
    credited,
    models,
    plain,
    stored,
)
from tests.semantics.made import (
    CROSSED,
    PASSED_ON,
    events,
    model,
    places,
    rules,
)

LARGE = (
    "0F0; SEND F0.0 to=1 h=x; 0F1; SEND F0.1 to=1 h=x; SEND t to=1; 0F2",
    "RECV F0.0 from=0 h=x; RECV F0.1 from=0 h=x; RECV t from=0",
)


def told(made: Model, decision: Decision, left: Iterable[str]) -> set[tuple[object, ...]]:
    """What is broken, of rules that are not `left` open, with all that is said of it."""
    return {
        (
            each.rule.code,
            *places(made.frame, each.finding),
            *sorted(each.finding.facts.items()),
            -1 if made.happens_before.credits else each.cost,  # the graph leaves credits out
            each.reached,
        )
        for each in decision.broken
        if each.rule.code not in left
    }


def needs(made: Model, axiom: Axiom) -> Iterator[tuple[int, int]]:
    """All pairs that an axiom wants ordered."""
    match axiom:
        case Enforced(rel, _):
            found = made.needs(rel)
            yield from zip(found.before.tolist(), found.after.tolist(), strict=True)
        case All(axioms):
            for each in axioms:
                yield from needs(made, each)
        case _:
            return


def shows(made: Model, broken: Broken) -> None:
    """Check an execution, and that what should come first does not stand in it."""
    replay.check(made, broken)
    starts = [spot.event for spot in broken.finding.spots]
    pairs = [pair for pair in needs(made, broken.rule.axiom) if pair[1] in starts]
    if pairs and broken.reached and len(broken.trace):
        assert broken.trace[-1] in starts
        assert any(before not in broken.trace for before, _ in pairs)


def agree(made: Model) -> tuple[int, int]:
    """Check that both engines say the same; return how much is broken, and how much is open."""
    one, other = graph.decide(made, rules()), decide(made, rules())
    left = {*one.unknown, *other.unknown}
    assert told(made, one, left) == told(made, other, left)
    assert (one.instances, one.complete) == (other.instances, other.complete)
    assert not (set(other.unknown) and not len(made.weak))
    for each in other.broken:
        shows(made, each)
    return len(other.broken), len(other.unknown)


@pytest.mark.parametrize("seed", range(5))
def test_both_engines_say_the_same_of_random_programs(seed: int) -> None:
    found = [agree(made) for k in range(20) for made in models(plain(20 * seed + k))]

    assert len(found) == 20
    assert sum(broken for broken, _ in found) > 20


@pytest.mark.parametrize("seed", range(5))
def test_both_engines_say_the_same_of_storage(seed: int) -> None:
    found = [agree(made) for k in range(10) for made in models(stored(10 * seed + k))]

    assert len(found) == 10
    assert sum(broken for broken, _ in found) > 40


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_both_engines_say_the_same_of_many_programs(seed: int) -> None:
    for number in range(100 * seed, 100 * seed + 100):
        text = stored(number) if number % 2 else plain(number)
        for made in models(text):
            agree(made)


def test_every_pair_is_ordered_as_the_graph_says() -> None:
    ordered = 0
    for made in (each for seed in range(15) for each in models(plain(seed, weak=False))):
        orders, frame = Orders(made, smt._Solver(LIMITS)), made.frame
        drawn = np.random.default_rng(made.events)
        after = drawn.integers(0, frame.first_transfer, 150)
        before = drawn.integers(0, made.events, 150)
        wanted = HappensBefore(made).ordered(before, after)
        found = [orders.pair(a, b).ordered for a, b in zip(before, after, strict=True)]
        ordered += int(np.sum(wanted))

        assert found == wanted.tolist()
    assert ordered > 200


def test_exactly_the_events_happen_that_can() -> None:
    stuck = 0
    for made in (each for seed in range(25) for each in models(plain(seed))):
        wanted = graph.run(made, made.progress).happened
        run = Orders(made, smt._Solver(LIMITS)).progress
        assert run is not None
        stuck += not np.all(wanted)

        assert np.array_equal(run.happened, wanted)
    assert stuck > 3


# What is found


def test_a_deadlock_is_shown_by_all_that_still_happens() -> None:
    made = model("0F0; SEND F0.0 to=1; RECV B1.0 from=1", CROSSED[1])
    decision = decide(made, rules("PP301"))
    (found,) = decision.broken

    assert (decision.engine, decision.complete) == (NAME, False)
    assert places(made.frame, found.finding) == ["r0.1 r1.0"]
    assert sorted(events(made.frame, found.trace)) == [
        *("done r0.0", "start r0.0", "start r0.1", "start r1.0"),
    ]


def test_a_cycle_does_not_support_itself() -> None:
    """Message t may leave once a or b has arrived; both are received after it."""
    made = model(OUT_OF_ORDER[0], "RECV t from=0; RECV a from=0; RECV b from=0", under=CREDITS)
    (found,) = decide(made, rules("PP301")).broken

    assert places(made.frame, found.finding) == ["r1.0"]
    assert "drained t" not in events(made.frame, found.trace)


def test_a_legal_schedule_breaks_nothing() -> None:
    made = model(*PASSED_ON)
    decision = decide(made, rules())

    assert (decision.broken, decision.complete, dict(decision.unknown)) == ((), True, {})


def test_what_is_not_ordered_is_shown_by_what_its_place_needs() -> None:
    made = model("0F0; SEND F0.0 to=1", "RECV F0.0 from=0 h=x; 9F0; 1F0; WAIT x", microbatches=10)
    (found,) = decide(made, rules("PP501")).broken

    assert places(made.frame, found.finding) == ["r1.2"]
    assert events(made.frame, found.trace) == [
        *("start r1.0", "done r1.0", "start r1.1", "done r1.1", "start r1.2"),
    ]


def test_what_weak_messages_may_hide_is_unknown() -> None:
    """Where u moves as late as it can v has come; it might move earlier."""
    hidden = model(*HIDDEN, under=WEAK_C, fragment=True)
    seen = model(HIDDEN[0].replace(" comm=c", ""), *HIDDEN[1:], under=WEAK_C, fragment=True)

    assert dict(decide(hidden, rules("PP501")).unknown) == {"PP501": WEAK}
    (found,) = decide(seen, rules("PP501")).broken
    assert places(seen.frame, found.finding) == ["r0.2"]


# Against all states


def test_pairs_are_ordered_as_all_states_say() -> None:
    ordered = thresholds = 0
    for made in _small():
        all_states = states(made.happens_before, 3000)
        if all_states is None:
            continue
        orders, chain = Orders(made, smt._Solver(LIMITS)), made.frame.chain
        pairs = itertools.product(range(made.events), range(made.frame.first_transfer))
        for before, after in itertools.islice(pairs, 0, None, 23):
            wanted = in_every_state(all_states, before, after)
            if wanted is None or chain[before] == chain[after]:
                continue
            ordered += wanted
            thresholds += bool(made.happens_before.credits)

            assert orders.pair(before, after).ordered == wanted
    assert ordered > 50
    assert thresholds > 200


def test_as_much_is_live_as_in_all_states() -> None:
    exceeded = thresholds = 0
    for made in _small():
        all_states = states(made.happens_before, 3000)
        holds = made.holds(Rel("memory"))
        if all_states is None:
            continue
        orders = Orders(made, smt._Solver(LIMITS))
        for moment in moments(made.frame, holds):
            wanted = most_live(made, holds, all_states, moment.event)
            if wanted is None:
                continue
            bound = wanted - 1
            found, more = orders.most(moment, bound), orders.most(moment, wanted)
            exceeded += moment.sure < wanted
            thresholds += bool(made.happens_before.credits) and moment.sure < wanted

            assert found is not None
            assert found.weight == wanted
            assert more is None
    assert exceeded > 30
    assert thresholds > 20


def test_as_much_comes_first_as_in_all_states() -> None:
    """What a violation costs; of what is never reached it is what guards alone say."""
    more = 0
    for made in _small():
        all_states = states(made.happens_before, 3000)
        if all_states is None:
            continue
        orders = Orders(made, smt._Solver(LIMITS))
        for event in range(0, made.frame.first_transfer, 3):
            there = [state for state in all_states if state >> event & 1]
            if not there:
                continue
            common = functools.reduce(operator.and_, there) & ~(1 << event)
            wanted = (common & ((1 << made.events) - 1)).bit_count()
            found = orders.preceding(np.asarray([event]))
            along_guards = np.sum(orders.guards.needed(np.asarray([event]))[: made.events])
            more += int(found > along_guards)

            assert found == wanted
    assert more > 5


def _small() -> Iterator[Model]:
    """Models of small programs, most of them with credits that are thresholds."""
    texts = [*(plain(seed, messages=(1, 4), weak=False) for seed in range(10))]
    texts += [credited(seed) for seed in range(25)]
    for text in texts:
        yield from models(text)


# Memory


def test_what_is_too_much_without_any_instruction_stands_at_the_end_of_the_program() -> None:
    made = model("0F0", "", stages=2, sizes={"weights": "4GiB"}, bounds={"memory": "2GiB"})
    found = decide(made, rules("PP506")).broken

    assert [places(made.frame, each.finding) for each in found] == [["r0.0"], ["r1.0"]]
    assert found[1].finding.facts["op"] == "the end of the program"
    for each in found:
        shows(made, each)


def test_with_thresholds_the_most_that_is_live_is_exact() -> None:
    """When 0F2 starts t has left, so one of F0.0 and F0.1 has come."""
    keys = {"sizes": {"F": "1MiB"}, "stages": 2, "placement": [0, 1], "microbatches": 3}
    enough = model(*LARGE, bounds={"memory": "2MiB"}, fragment=True, under=CREDITS, **keys)
    scarce = model(*LARGE, bounds={"memory": "1MiB"}, fragment=True, under=CREDITS, **keys)

    assert "PP506" in graph.decide(enough, rules("PP506")).unknown
    assert decide(enough, rules("PP506")).broken == ()
    found = decide(scarce, rules("PP506")).broken
    assert [places(scarce.frame, each.finding) for each in found] == [["r1.1"], ["r0.2"], ["r0.5"]]
    assert found[2].finding.facts["why"] == "makes 2 MiB live on rank 0, more than 1 MiB"


# Limits


def test_what_the_budget_does_not_reach_is_unknown() -> None:
    made = model(*PASSED_ON)
    decision = decide(made, rules(), Limits(total=0))

    assert not decision.complete
    assert decision.unknown["PP301"] == f"{SPENT} before it is known what happens"
    assert set(decision.unknown) >= {"PP202", "PP205", "PP301"} - {"PP202"}
    assert decision.instances == decide(made, rules()).instances


def test_a_question_that_costs_too_much_is_unknown() -> None:
    assert "PP301" in decide(model(*PASSED_ON), rules(), Limits(question=1)).unknown


def test_what_needs_no_solver_is_decided_without_budget() -> None:
    made = model("0F0; 0F0; SEND F0.1 to=1; 0F1", "RECV F0.1 from=0", microbatches=2)
    found = decide(made, rules("PP102", "PP405"), Limits(total=0)).broken

    assert [f"{each.rule.code} {places(made.frame, each.finding)[0]}" for each in found] == [
        *("PP102 r0.1", "PP405 r0.2"),
    ]
    assert all(not len(each.trace) and not each.reached for each in found)


def test_how_many_pairs_were_decided_is_said() -> None:
    made = model(
        "; ".join(f"RECV v{k} from=1 h=x buf=s{k}; USE s{k} v{k}" for k in range(6)),
        "; ".join(f"SEND v{k} to=0" for k in range(6)),
        fragment=True,
    )
    whole = decide(made, rules("PP501"))
    assert len(whole.broken) == 6
    parts = {
        decide(made, rules("PP501"), Limits(total=total)).unknown.get("PP501", "")
        for total in range(0, 15_000, 500)
    }

    assert f"{SPENT}: 0 of 6 pairs are decided" in parts
    assert any(f"{SPENT}: {k} of 6 pairs are decided" in parts for k in range(1, 6))
    assert "" in parts


def test_a_schedule_with_too_many_guards_is_unknown() -> None:
    decision = decide(model(*PASSED_ON), rules(), Limits(guards=3))

    assert set(decision.unknown) == {rule.code for rule in rules()}
    assert (decision.broken, decision.complete) == ((), False)


def test_the_same_question_has_the_same_answer() -> None:
    made = models(stored(3))[0]
    first, second = decide(made, rules()), decide(made, rules())

    assert [each.trace.tolist() for each in first.broken] == [
        each.trace.tolist() for each in second.broken
    ]
    assert told(made, first, ()) == told(made, second, ())
