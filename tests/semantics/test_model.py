"""The guards of a schedule under a transport, put together."""

from dataclasses import replace

import numpy as np

from pipeproof.ir.transport import NAMED, Groups
from pipeproof.semantics.logic import HAPPENS_BEFORE, PROGRESS, Rel
from tests.semantics.made import BUFFERED, CROSSED, PASSED_ON, RENDEZVOUS, event, events, model

BOTH = (
    "COLL a ranks=0,1; [SEND v to=1 | RECV u from=1]",
    "COLL a ranks=0,1; [SEND u to=0 | RECV v from=0]",
)


def test_an_order_is_put_together_once() -> None:
    made = model("COLL a ranks=0,1 from=0", "COLL a ranks=0,1 from=0")

    assert made.progress is made.graph(PROGRESS)
    assert made.happens_before is made.graph(HAPPENS_BEFORE)
    assert len(made.progress.before) == len(made.happens_before.before) + 1


def test_guards_are_the_union_of_the_assumed_relations() -> None:
    made = model("SEND v to=1", "RECV v from=0", under=BUFFERED)
    graph = made.progress
    found = {
        f"{event(made.frame, a)} -> {event(made.frame, b)}"
        for a, b in zip(graph.before.tolist(), graph.after.tolist(), strict=True)
    }

    assert found == {
        *("start r0.0 -> done r0.0", "start r1.0 -> done r1.0"),
        *("done r0.0 -> end r0", "done r1.0 -> end r1"),
        *("start r0.0 -> drained v", "drained v -> arrived v", "start r1.0 -> arrived v"),
        *("drained v -> done r0.0", "arrived v -> done r1.0"),
    }
    assert (made.events, graph.size) == (8, 8)


def test_gates_of_relations_do_not_share_a_number() -> None:
    made = model(*BOTH, under="rendezvous-atomic")
    frame, graph = made.frame, made.progress
    into = {int(gate): set[str]() for gate in range(frame.events, graph.size)}
    for before, after in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
        if after in into:
            into[after].add(event(frame, before))

    assert list(into.values()) == [{"start r0.0", "start r1.0"}, {"start r0.1", "start r1.1"}]


def test_what_lacks_a_partner_never_happens() -> None:
    made = model("SEND v to=1; SEND u to=1", "RECV v from=0")

    assert events(made.frame, np.flatnonzero(made.progress.never)) == ["drained u", "arrived u"]


def test_gates_that_never_open_are_shifted_with_their_relation() -> None:
    made = model("COLL a ranks=0,1; SEND v to=1", "", under="rendezvous-atomic")
    never = np.flatnonzero(made.progress.never)

    assert events(made.frame, never) == ["drained v", "arrived v", "gate 0", "gate 1"]


def test_a_capacity_becomes_thresholds_and_no_guards() -> None:
    sends, receives = (
        "SEND v to=1; SEND u to=1; SEND t to=1",
        "RECV v from=0; RECV u from=0; RECV t from=0",
    )
    made = model(sends, receives, under=replace(BUFFERED, capacity=2))
    (credit,) = made.progress.credits

    assert credit.capacity == 2
    assert events(made.frame, credit.drained) == ["drained v", "drained u", "drained t"]
    assert events(made.frame, credit.arrived) == ["arrived v", "arrived u", "arrived t"]


def test_relations_are_looked_up_by_name_and_kept() -> None:
    made = model(*CROSSED)

    assert made.is_findings(Rel("crossed"))
    assert not made.is_findings(Rel("sends"))
    assert made.findings(Rel("crossed")) is made.findings(Rel("crossed"))
    assert len(made.needs(Rel("sends")).after) == 2


def test_messages_of_weak_communicators_are_held() -> None:
    weak = replace(RENDEZVOUS, weak=frozenset({"c"}))
    made = model(
        "SEND v to=1 comm=c; SEND u to=1", "RECV v from=0 comm=c; RECV u from=0", under=weak
    )

    assert events(made.frame, np.flatnonzero(made.progress.held)) == ["drained v", "arrived v"]
    assert made.weak.tolist() == [0]


def test_a_weak_communicator_that_no_message_uses_holds_nothing() -> None:
    made = model(*PASSED_ON, under=replace(NAMED["rendezvous"], weak=frozenset({"c"})))

    assert not made.progress.held.any()


def test_with_a_weak_message_all_that_moves_with_it_is_held() -> None:
    weak = replace(RENDEZVOUS, weak=frozenset({"c"}), groups=Groups.ATOMIC)
    made = model(
        "[SEND v to=1 comm=c | RECV u from=1]; SEND t to=1",
        "[SEND u to=0 | RECV v from=0 comm=c]; RECV t from=0",
        under=weak,
    )

    assert events(made.frame, np.flatnonzero(made.progress.held)) == [
        *("drained v", "arrived v", "drained u", "arrived u"),
    ]
