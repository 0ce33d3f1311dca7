"""The graph engine: exact counts, shortest traces, thresholds, weak communicators."""

from dataclasses import replace

import numpy as np
import pytest

from pipeproof.engines import graph
from pipeproof.engines._order import HappensBefore
from pipeproof.engines._sweep import Run, run
from pipeproof.engines.graph import NAME, decide
from pipeproof.ir.operations import IntArray
from pipeproof.ir.transport import Groups, Match, Queue, Transport
from pipeproof.semantics.model import Graph, Model
from pipeproof.verdict.decision import Decision
from tests.semantics.made import (
    BUFFERED,
    CROSSED,
    PASSED_ON,
    RENDEZVOUS,
    event,
    events,
    model,
    places,
    rules,
)

WEAK = replace(RENDEZVOUS, weak=frozenset({"c"}))


def happens(made: Model) -> bool:
    """Whether everything happens."""
    return bool(np.all(run(made, made.progress).happened[: made.events]))


def broken(made: Model, decision: Decision) -> list[str]:
    """Each violation as its code and its places."""
    return [f"{each.rule.code} {places(made.frame, each.finding)[0]}" for each in decision.broken]


def column(*numbers: int) -> IntArray:
    return np.asarray(numbers, np.int64)


# Counts and traces


def test_a_deadlock_is_shown_by_all_that_still_happens() -> None:
    made = model("0F0; SEND F0.0 to=1; RECV B1.0 from=1", CROSSED[1])
    decision = decide(made, rules("PP301"))
    (found,) = decision.broken

    assert made.events == 16  # five instructions, two ends, two transfers
    assert decision.instances == {"PP301": 4}
    assert broken(made, decision) == ["PP301 r0.1 r1.0"]
    assert found.cost == 2
    assert events(made.frame, found.trace) == [
        *("start r0.0", "start r1.0", "done r0.0", "start r0.1"),
    ]
    assert found.reached
    assert not decision.complete


def test_a_deadlock_of_collectives_is_shown_by_the_entries() -> None:
    made = model("COLL a ranks=0,1; COLL b ranks=0,1", "COLL b ranks=0,1; COLL a ranks=0,1")
    decision = decide(made, rules("PP205"))
    (found,) = decision.broken

    assert made.events == 10
    assert decision.instances == {"PP205": 2}
    assert broken(made, decision) == ["PP205 r0.0 r1.0"]
    assert events(made.frame, found.trace) == ["start r0.0", "start r1.0"]


def test_crossed_messages_are_shown_up_to_the_first_wrong_arrival() -> None:
    made = model("0F0; SEND v to=1; SEND u to=1", "RECV u from=0; RECV v from=0")
    decision = decide(made, rules("PP202"))
    first, second = decision.broken

    assert made.events == 16
    assert decision.instances == {"PP202": 2}
    assert (first.cost, second.cost) == (2, 8)
    assert events(made.frame, first.trace) == [
        *("start r0.0", "start r1.0", "done r0.0", "start r0.1", "drained v", "arrived v"),
    ]
    assert events(made.frame, second.trace)[-1] == "arrived u"
    assert len(second.trace) == 12
    assert decision.complete


def test_a_stranded_message_is_shown_by_its_departure() -> None:
    made = model("0F0; SEND v to=1", "1F0", under=BUFFERED)
    decision = decide(made, rules("PP303"))
    (found,) = decision.broken

    assert made.events == 10
    assert decision.instances == {"PP303": 1}
    assert events(made.frame, found.trace) == [
        *("start r0.0", "done r0.0", "start r0.1", "drained v"),
    ]


def test_a_message_that_never_leaves_is_not_stranded() -> None:
    made = model("SEND v to=1", "1F0")
    decision = decide(made, rules("PP303"))

    assert (decision.instances, decision.broken) == ({"PP303": 1}, ())


def test_what_starts_too_early_is_shown_by_its_start() -> None:
    made = model("SEND v to=1; SEND F0.0 to=1; 0F0", "RECV v from=0; RECV F0.0 from=0; 1F0")
    decision = decide(made, rules("PP401", "PP405"))
    (found,) = decision.broken

    assert made.events == 18
    assert decision.instances == {"PP401": 1, "PP405": 1}
    assert broken(made, decision) == ["PP405 r0.1"]
    assert dict(found.finding.facts) == {"op": "SEND F0.0 to=1", "value": "F0.0"}
    assert found.cost == 4
    assert events(made.frame, found.trace) == [
        *("start r0.0", "start r1.0", "drained v", "done r0.0", "start r0.1"),
    ]


def test_a_legal_schedule_breaks_nothing() -> None:
    made = model(*PASSED_ON)
    decision = decide(made, rules())

    assert made.events == 12
    assert (decision.engine, decision.broken, decision.complete) == (NAME, (), True)
    assert [f"{code} {number}" for code, number in decision.instances.items() if number] == [
        *("PP101 2", "PP102 2", "PP103 4", "PP104 2", "PP105 1", "PP201 2", "PP202 1"),
        *("PP203 1", "PP204 2", "PP301 2", "PP303 1", "PP401 1", "PP405 1"),
    ]


def test_an_await_is_something_that_may_wait_for_ever() -> None:
    made = model("SIGNAL to=1", "AWAIT from=0")

    assert decide(made, rules("PP301")).instances == {"PP301": 1}


def test_a_collective_that_a_rank_never_enters_breaks_the_order_of_collectives() -> None:
    made = model("COLL a ranks=0,1", "")
    decision = decide(made, rules("PP205"))

    assert broken(made, decision) == ["PP205 r0.0"]
    assert events(made.frame, decision.broken[0].trace) == ["start r0.0", "end r1"]


def test_what_lies_behind_a_deadlock_is_told_and_not_reached() -> None:
    made = model(*(f"{program}; {rank}F0; {rank}F0" for rank, program in enumerate(CROSSED)))
    decision = decide(made, rules("PP102", "PP301"))

    assert broken(made, decision) == ["PP301 r0.0 r1.0", "PP102 r0.3", "PP102 r1.3"]
    assert [each.reached for each in decision.broken] == [True, False, False]
    assert events(made.frame, decision.broken[1].trace) == ["start r0.0", "start r1.0"]


def test_what_needs_the_fewest_events_comes_first() -> None:
    made = model("0F0; 0F0", "0B0; 1B0; 1F0; 9F0", stages=2)
    decision = decide(made, rules("PP101", "PP102", "PP103", "PP104", "PP402"))

    assert broken(made, decision) == [
        *("PP104 r1.0", "PP402 r1.0"),  # no event before it; the lower code first
        *("PP102 r0.1", "PP402 r1.1"),
        "PP103 r1.3",
    ]


def test_what_has_no_place_comes_last() -> None:
    made = model("0F0; 0F0", "", stages=1, microbatches=2)

    assert broken(made, decide(made, rules("PP101", "PP102"))) == ["PP102 r0.1", "PP101 "]


def test_among_hundreds_of_violations_the_first_is_the_first() -> None:
    made = model("; ".join(["0F0"] * 400), "SEND v to=2; 1F0; 1F0", "RECV v from=1")
    decision = decide(made, rules("PP102"))

    assert len(decision.broken) == 400
    assert broken(made, decision)[:2] == ["PP102 r0.1", "PP102 r0.2"]
    assert decision.broken[0].cost == 2


def test_every_rule_has_one_trace_even_where_traces_are_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "_TRACE_EVENTS", 1)
    made = model("0F0; 0F0; 0F0; 0B9; 0B9", stages=1)
    decision = decide(made, rules("PP102", "PP103"))

    assert [(each.rule.code, len(each.trace)) for each in decision.broken] == [
        *(("PP102", 3), ("PP102", 0), ("PP103", 7), ("PP103", 0)),
    ]


# Thresholds


CREDITS = replace(BUFFERED, capacity=2, match=Match.TAG)
OUT_OF_ORDER = (
    "SEND a to=1; SEND b to=1; SEND t to=1",
    "RECV b from=0; RECV t from=0; RECV a from=0",
)


def with_edges(made: Model) -> Graph:
    """The guards with each threshold as an edge from message n - k to message n."""
    whole = made.progress
    (credit,) = whole.credits
    before = np.concatenate((whole.before, credit.arrived[: -credit.capacity]))
    after = np.concatenate((whole.after, credit.drained[credit.capacity :]))
    return Graph(whole.size, before, after, whole.never, (), whole.held)


def test_a_credit_is_a_threshold_and_not_an_edge() -> None:
    """Message t may leave once b has arrived, though a arrives only after t."""
    made = model(*OUT_OF_ORDER, under=CREDITS)
    by_edges = run(made, with_edges(made))

    assert happens(made)
    assert not np.all(by_edges.happened)


def test_a_threshold_that_nothing_frees_is_a_deadlock() -> None:
    made = model(
        "SEND a to=1; SEND b to=1; SEND t to=1",
        "RECV t from=0; RECV a from=0; RECV b from=0",
        under=CREDITS,
    )

    assert broken(made, decide(made, rules("PP301"))) == ["PP301 r1.0"]


def test_a_send_waits_for_its_credit_and_leaves_with_it() -> None:
    made = model(
        "SEND a to=1; SEND b to=1; SEND t to=1",
        f"{'0F0; ' * 6}RECV a from=0; RECV b from=0; RECV t from=0",
        under=replace(BUFFERED, capacity=2),
        stages=1,
        placement=[1],
    )
    level = run(made, made.progress).level
    moments = {event(made.frame, each): int(level[each]) for each in range(made.events)}

    assert moments["drained t"] == moments["arrived a"] + 1


def test_with_thresholds_what_comes_first_is_found_by_forbidding_it() -> None:
    made = model(*OUT_OF_ORDER, under=CREDITS)
    order, frame = HappensBefore(made), made.frame
    a, b, t = (frame.arrived(column(k)).item() for k in (0, 1, 2))
    pairs = [(b, t), (t, b), (a, t)]

    assert order._exactly(*_columns(pairs)).tolist() == [True, False, False]


def test_without_thresholds_what_comes_first_is_found_by_a_path() -> None:
    made = model(*PASSED_ON)
    order = HappensBefore(made)
    arrived = made.frame.arrived(column(0)).item()

    assert order._walked(*_columns([(0, arrived), (arrived, 0)])).tolist() == [True, False]
    assert order.ordered(*_columns([(0, 3), (3, 0)])).tolist() == [True, False]  # on one chain


def _columns(pairs: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    before, after = np.asarray(pairs, np.int64).T
    return before, after


def test_with_thresholds_a_trace_holds_all_that_happens_so_far() -> None:
    made = model(f"0F9; {OUT_OF_ORDER[0]}; 0F9", OUT_OF_ORDER[1], under=CREDITS, stages=1)
    decision = decide(made, rules("PP103"))
    found = events(made.frame, decision.broken[1].trace)

    assert {"start r0.4", "drained t", "arrived b"} <= set(found)
    assert "done r0.4" not in found


# Weak communicators


def test_a_weak_message_moves_when_both_ranks_stand_in_a_call_on_it() -> None:
    assert happens(model("SEND v to=1 comm=c", "RECV v from=0 comm=c", under=WEAK))


def test_a_weak_message_that_a_rank_leaves_behind_never_moves() -> None:
    made = model("SEND v to=1 comm=c h=x", "RECV v from=0 comm=c", under=WEAK)
    decision = decide(made, rules("PP301"))

    assert broken(made, decision) == ["PP301 r0.0 r1.0"]
    assert events(made.frame, decision.broken[0].trace) == [
        *("start r0.0", "start r1.0", "done r0.0", "end r0"),
    ]


def test_a_call_moves_whichever_messages_of_its_communicator_can() -> None:
    made = model(
        "SEND v to=1 comm=c h=x; SEND u to=1 comm=c; WAIT x",
        "RECV v from=0 comm=c h=x; RECV u from=0 comm=c; WAIT x",
        under=WEAK,
    )
    level = run(made, made.progress).level

    assert happens(made)
    assert level[made.frame.drained(column(0))] == level[made.frame.drained(column(1))]


def test_weak_messages_in_a_queue_move_one_after_the_other_in_one_call() -> None:
    programs = (
        "SEND v to=1 comm=c h=x; SEND u to=1 comm=c; AWAIT from=1; WAIT x",
        "RECV v from=0 comm=c h=x; RECV u from=0 comm=c; SIGNAL to=0; WAIT x",
    )

    assert happens(model(*programs, under=replace(WEAK, queue=Queue.EDGE)))


def test_a_weak_message_moves_only_where_nothing_else_can_happen() -> None:
    made = model("SEND v to=1 comm=c", "RECV v from=0 comm=c", "2F0; 2B0", under=WEAK, stages=3)
    level = run(made, made.progress).level

    assert level[made.frame.drained(column(0))] > level[made.frame.ends + 2]


def test_with_weak_messages_a_trace_holds_all_that_happens_so_far() -> None:
    made = model("SEND v to=1 comm=c; 0F9", "RECV v from=0 comm=c", under=WEAK, stages=1)
    (found,) = decide(made, rules("PP103")).broken

    assert events(made.frame, found.trace) == [
        *("start r0.0", "start r1.0", "drained v", "arrived v"),
        *("done r0.0", "done r1.0", "start r0.1"),
    ]


def test_a_bracket_on_a_weak_communicator_moves_as_a_whole() -> None:
    transport = Transport("t", groups=Groups.ATOMIC, weak=frozenset({"c"}))
    made = model(
        "[SEND v to=1 comm=c | SEND u to=1]",
        "[RECV u from=0 | RECV v from=0 comm=c]",
        under=transport,
    )

    assert happens(made)


def test_events_are_ordered_by_the_round_in_which_they_happen() -> None:
    made = Run(column(2, 1, 2, 0))

    assert made.order(column(0, 1, 2, 3)).tolist() == [3, 1, 0, 2]
    assert Run(column(-1, 3)).happened.tolist() == [False, True]
