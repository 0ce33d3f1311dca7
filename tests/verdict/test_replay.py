"""Honest executions replay; those that were tampered with do not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeproof.engines.graph import Ancestors, decide
from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.transport import Groups, Match, Queue, Transport, Wait
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.model import Model
from pipeproof.verdict._running import enabled
from pipeproof.verdict.decision import Broken
from pipeproof.verdict.replay import check, happen
from tests.semantics.made import BUFFERED, RENDEZVOUS, events, model, rules

WEAK = replace(RENDEZVOUS, weak=frozenset({"c"}))
EAGER = Transport("t", queue=Queue.RANK, wait=Wait.EXPLICIT)
CREDITS = replace(BUFFERED, capacity=2, match=Match.TAG)

EXAMPLES: dict[str, tuple[str, Model]] = {
    "Acyclic-messages": (
        "PP301",
        model("0F0; SEND F0.0 to=1; RECV B1.0 from=1", "SEND B1.0 to=0; RECV F0.0 from=0"),
    ),
    "Acyclic-collectives": (
        "PP205",
        model("0F0; COLL a ranks=0,1; COLL b ranks=0,1", "COLL b ranks=0,1; COLL a ranks=0,1"),
    ),
    "Empty": ("PP102", model("0F0; SEND v to=1; 0F0", "RECV v from=0; 1F0")),
    "Never": ("PP303", model("0F0; SEND v to=1; 0F1", "1F0", under=BUFFERED)),
    "Enforced": (
        "PP405",
        model("SEND v to=1; SEND F0.0 to=1; 0F0", "RECV v from=0; RECV F0.0 from=0; 1F0"),
    ),
    "queue": (
        "PP301",
        model(
            "0F0; SEND v to=1 h=x; SEND u to=1 comm=c h=x; WAIT x",
            "RECV u from=0 comm=c h=x; RECV v from=0 h=x; WAIT x",
            under=EAGER,
        ),
    ),
    "group": (
        "PP301",
        model(
            "0F0; [SEND a to=1 | SEND b to=1]",
            "RECV a from=0; RECV b from=0",
            under="rendezvous-atomic",
        ),
    ),
    "threshold": (
        "PP301",
        model(
            "SEND a to=1; SEND b to=1; SEND t to=1; SEND d to=1",
            "RECV a from=0; RECV d from=0; RECV b from=0; RECV t from=0",
            under=CREDITS,
        ),
    ),
    "weak": (
        "PP301",
        model(
            "SEND v to=1 comm=c; SEND u to=1 comm=c h=x; AWAIT from=1",
            "RECV v from=0 comm=c; RECV u from=0 comm=c; SIGNAL to=0",
            under=WEAK,
        ),
    ),
    "first": (
        "PP301",
        model(
            "SEND v to=1; SEND u to=2",
            "SEND w to=2; RECV v from=0",
            "0F0; RECV u from=0; RECV w from=1",
            under="nccl-first",
        ),
    ),
    "AtMost": (
        "PP506",
        model(
            "0F0; SEND F0.0 to=1 h=x; RECV v from=1; 0F1",
            "SEND v to=0; RECV F0.0 from=0",
            fragment=True,
            placement=[0, 1],
            stages=2,
            microbatches=2,
            sizes={"F": "1B"},
            bounds={"memory": "1B"},
        ),
    ),
    "slot": (
        "PP301",
        model(
            "1F0; SEND F1.0 to=1 h=x; 1F1; SEND v to=1; SEND F1.1 to=1",
            "RECV v from=0; RECV F1.0 from=0; RECV F1.1 from=0",
            fragment=True,
            stages=3,
            placement=[0, 0, 1],
            microbatches=2,
            storage={"send": {"slots": 1, "guard": "wait"}},
            under=replace(RENDEZVOUS, match=Match.TAG),
        ),
    ),
}
KINDS = ["Acyclic-messages", "Acyclic-collectives", "Empty", "Never", "Enforced"]
each_example = pytest.mark.parametrize("name", list(EXAMPLES))
each_kind = pytest.mark.parametrize("name", KINDS)


def honest(name: str) -> tuple[Model, Broken]:
    """The first thing that is broken in an example."""
    code, made = EXAMPLES[name]
    return made, decide(made, rules(code)).broken[0]


def told(broken: Broken, trace: Sequence[int] | None = None, **other: object) -> Broken:
    """The same claim, but for its execution, its finding or whether it is reached."""
    finding, reached = other.get("finding", broken.finding), other.get("reached", broken.reached)
    assert isinstance(finding, Finding)
    events_ = broken.trace if trace is None else np.asarray(trace, np.int64)
    return Broken(broken.rule, finding, broken.cost, events_, reached=bool(reached))


def refused(made: Model, broken: Broken) -> bool:
    try:
        check(made, broken)
    except ReplayMismatchError:
        return True
    return False


@each_example
def test_an_honest_execution_replays(name: str) -> None:
    made, broken = honest(name)

    assert len(broken.trace) > 1
    assert not refused(made, broken)


@each_example
def test_an_execution_that_leaves_out_an_event_does_not_replay(name: str) -> None:
    made, broken = honest(name)
    trace = broken.trace.tolist()

    for gone in range(len(trace)):
        assert refused(made, told(broken, trace[:gone] + trace[gone + 1 :])), gone


@each_example
def test_an_execution_backwards_does_not_replay(name: str) -> None:
    made, broken = honest(name)

    assert refused(made, told(broken, broken.trace.tolist()[::-1]))


@each_example
def test_an_event_moved_before_what_it_waits_for_does_not_replay(name: str) -> None:
    made, broken = honest(name)
    trace = broken.trace.tolist()
    ancestors = Ancestors(made.progress)
    moved = 0
    for at, each in enumerate(trace):
        before = set(ancestors.of(np.asarray([each])).tolist())
        if before & set(trace[:at]):
            moved += 1
            assert refused(made, told(broken, [each, *trace[:at], *trace[at + 1 :]])), at

    assert moved


@each_kind
def test_an_event_that_happens_twice_does_not_replay(name: str) -> None:
    made, broken = honest(name)
    trace = broken.trace.tolist()

    assert refused(made, told(broken, [*trace, trace[0]]))


@each_kind
@pytest.mark.parametrize("stranger", [-1, 10_000])
def test_an_event_that_does_not_exist_does_not_replay(name: str, stranger: int) -> None:
    made, broken = honest(name)

    assert refused(made, told(broken, [*broken.trace.tolist(), stranger]))


@each_kind
def test_a_place_that_is_reached_cannot_be_said_not_to_be(name: str) -> None:
    made, broken = honest(name)

    assert refused(made, told(broken, reached=False))


@each_kind
def test_a_place_that_is_not_reached_cannot_be_said_to_be(name: str) -> None:
    made, broken = honest(name)
    trace = broken.trace.tolist()
    last = max(spot.event for spot in broken.finding.spots)
    before = trace[: trace.index(last)]

    assert refused(made, told(broken, before, reached=True))


def test_a_deadlock_that_can_go_on_is_none() -> None:
    made = model("0F0; SEND v to=1", "RECV v from=0")
    (rule,) = rules("PP301")
    finding = Finding((Spot(2, 1),), {"why": "said so"})

    assert refused(made, Broken(rule, finding, 2, np.asarray([0, 1, 2]), reached=True))


def test_a_deadlock_where_everything_happens_is_none() -> None:
    made = model("0F0")
    (rule,) = rules("PP301")
    finding = Finding((Spot(0, 0),), {"why": "said so"})

    assert refused(made, Broken(rule, finding, 0, np.asarray([0, 1, 2]), reached=True))


def test_a_collective_that_a_rank_never_enters_needs_no_execution_to_its_end() -> None:
    made = model("COLL a ranks=0,1; 0F0", "1F0")
    broken = decide(made, rules("PP205")).broken[0]

    assert not refused(made, told(broken, [0]))


@pytest.mark.parametrize("name", ["Empty", "Never"])
def test_a_finding_at_another_place_is_none(name: str) -> None:
    made, broken = honest(name)
    other = Finding((Spot(0, 0),), broken.finding.facts, made.frame.events - 1)

    assert refused(made, told(broken, finding=other))


def test_a_pair_that_is_ordered_breaks_nothing() -> None:
    made = model("0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0")
    (rule,) = rules("PP405")
    broken = Broken(rule, Finding((Spot(2, 1),), {}), 2, np.asarray([0, 1, 2]), reached=True)

    assert refused(made, broken)


def test_a_pair_of_what_stands_nowhere_is_broken() -> None:
    made = model("SEND F0.0 to=1", "RECV F0.0 from=0")
    broken = decide(made, rules("PP405")).broken[0]

    assert not refused(made, broken)


def test_a_bound_is_not_exceeded_where_the_message_has_left() -> None:
    made, broken = honest("AtMost")
    drained = int(made.frame.drained(np.asarray(0)))
    names = events(made.frame, range(made.events))
    posted, moved = names.index("start r1.1"), names.index("done r1.0")
    at = broken.trace.tolist().index(max(spot.event for spot in broken.finding.spots))
    before, after = broken.trace.tolist()[:at], broken.trace.tolist()[at:]
    enter = [each for each in (moved, posted) if each not in before]

    assert not refused(made, told(broken, [*before, *enter, *after]))
    assert refused(made, told(broken, [*before, *enter, drained, *after]))


def test_what_has_no_place_needs_no_execution() -> None:
    made = model("0F0", microbatches=2)
    (broken,) = decide(made, rules("PP101")).broken

    assert len(broken.trace) == 0
    assert not refused(made, broken)


def test_a_send_without_credit_does_not_replay() -> None:
    """Three may not leave while none of the first two has arrived."""
    made = model("SEND a to=1 h=x; SEND b to=1 h=x; SEND t to=1 h=x", "", under=CREDITS)
    posted = [0, 1, 2, 3, 4]
    drained = made.frame.drained(np.arange(3)).tolist()

    assert happen(made, made.progress, np.asarray(posted + drained[:2]))[drained[1]] == 6
    with pytest.raises(ReplayMismatchError, match="no credit"):
        happen(made, made.progress, np.asarray(posted + drained))


def weak_pair() -> tuple[Model, list[int], list[int]]:
    """Two ranks in a call on a weak communicator, a third at work; their starts and the message."""
    made = model("SEND v to=1 comm=c", "RECV v from=0 comm=c", "2F0", under=WEAK, stages=3)
    drained, arrived = (f(np.asarray([0])).item() for f in (made.frame.drained, made.frame.arrived))
    return made, [0, 2], [drained, arrived]


def test_a_weak_message_moves_where_nothing_else_can_happen() -> None:
    made, calls, message = weak_pair()
    rest = [4, 5, made.frame.ends + 2]
    moment = happen(made, made.progress, np.asarray([*calls, *rest, *message]))

    assert [moment[each] for each in message] == [5, 6]


def test_a_weak_message_that_moves_while_something_else_can_happen_does_not_replay() -> None:
    made, calls, message = weak_pair()

    with pytest.raises(ReplayMismatchError, match="not in a call"):
        happen(made, made.progress, np.asarray([*calls, *message]))


def test_a_weak_message_that_moves_while_a_rank_is_outside_does_not_replay() -> None:
    made = model("SEND v to=1 comm=c h=x", "RECV v from=0 comm=c", under=WEAK)
    drained = made.frame.drained(np.asarray([0])).item()

    with pytest.raises(ReplayMismatchError, match="not in a call"):
        happen(made, made.progress, np.asarray([0, 1, made.frame.ends, 2, drained]))


def test_a_message_that_moves_with_a_weak_one_moves_at_once() -> None:
    made = model(
        "[SEND v to=1 comm=c | SEND u to=1]",
        "[RECV u from=0 | RECV v from=0 comm=c]",
        under=replace(WEAK, groups=Groups.ATOMIC),
    )
    trace = [0, 2, *range(made.frame.first_transfer, made.events)]

    assert happen(made, made.progress, np.asarray(trace)).max(initial=0) > 0


def test_what_waits_for_nothing_more_is_enabled() -> None:
    made = model("SEND a to=1 h=x; SEND b to=1 h=x; SEND t to=1 h=x", "", under=CREDITS)
    happened = np.zeros(made.progress.size, np.bool_)
    happened[:6] = True
    able = np.flatnonzero(enabled(made, made.progress, happened))

    assert events(made.frame, able) == ["end r0", "end r1", "drained a", "drained b"]
