"""When each operation begins and ends in the execution that a picture shows."""

import pytest

from pipeproof.api import Asked, judge
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.reports._layout import STEPS, Layout, execution, layout
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision
from tests.reports.executions import execution as any_execution
from tests.semantics.made import CROSSED, PASSED_ON, events, text


def judged(under: str, *programs: str, **keys: object) -> tuple[Model, Decision, Broken | None]:
    """The model, what was decided, and the first that is broken."""
    kept: list[tuple[Model, Decision]] = []
    document = spec.read(text(*programs, **keys), "made", ReadOptions())[0]
    judge(document, Asked(transports=(under,)), kept)
    model, decision = kept[0]
    return model, decision, next(iter(decision.broken), None)


def boxes(model: Model, found: Layout) -> dict[str, tuple[int, int, int]]:
    """Start, end and whether it happened of each operation."""
    columns = (found.start.tolist(), found.end.tolist(), found.happened.tolist())
    return {
        f"r{model.frame.ops.rank[row]} {model.frame.text(row)}": each
        for row, each in enumerate(zip(*columns, strict=True))
    }


def test_a_legal_schedule_lies_where_its_earliest_execution_has_it() -> None:
    costs = {"F": 3, "B": 2, "comm": 1}
    found = judged("buffered", *PASSED_ON, stages=2, placement=[0, 1], costs=costs)
    shown = layout(*found)
    assert (shown.timed, shown.frontier, shown.span, shown.unit) == (True, None, 7, 1)
    assert boxes(found[0], shown) == {
        "r0 0F0": (0, 3, 1),
        "r0 SEND F0.0 to=1": (3, 3, 1),
        "r1 RECV F0.0 from=0": (0, 4, 1),
        "r1 1F0": (4, 7, 1),
    }


def test_members_of_an_overlap_lie_one_after_the_other() -> None:
    program = "0F0; (0F1;0B0)OVERLAP_F_B; 0B1"
    found = judged("buffered", program, microbatches=2)
    assert [row[:2] for row in boxes(found[0], layout(*found)).values()] == [
        (0, 1),
        (1, 2),
        (2, 4),
        (4, 6),
    ]


def test_of_a_deadlock_no_time_is_told_and_what_is_not_reached_lies_behind_the_frontier() -> None:
    behind = (f"{CROSSED[0]}; 0F0", CROSSED[1])
    found = judged("rendezvous", *behind, fragment=True, stages=2, placement=[0, 1])
    shown = layout(*found)
    assert (shown.timed, shown.axis, shown.frontier) == (False, STEPS, 2)
    assert boxes(found[0], shown) == {
        "r0 SEND F0.0 to=1": (0, 2, 2),
        "r0 RECV B1.0 from=1": (2, 3, 0),
        "r0 0F0": (3, 4, 0),
        "r1 SEND B1.0 to=0": (0, 2, 2),
        "r1 RECV F0.0 from=0": (2, 3, 0),
    }


def test_a_send_whose_call_is_over_and_that_has_not_moved_is_not_complete() -> None:
    programs = (
        "SEND F0.0 to=1 h=s; SEND F0.1 to=1 comm=c; RECV B1.0 from=1 comm=d",
        "SEND B1.0 to=0 comm=d; RECV F0.0 from=0; RECV F0.1 from=0 comm=c",
    )
    found = judged("rendezvous", *programs, fragment=True, microbatches=2)
    shown = boxes(found[0], layout(*found))
    assert shown["r0 SEND F0.0 to=1 h=s"] == (0, 1, 2)
    assert shown["r0 SEND F0.1 to=1 comm=c"] == (1, 3, 2)
    assert shown["r1 SEND B1.0 to=0 comm=d"] == (0, 3, 2)


@pytest.mark.parametrize("under", ["rendezvous", "buffered", "buffered-1", "nccl-lazy"])
def test_the_earliest_execution_can_happen_and_is_whole(under: str) -> None:
    programs = (
        "0F0; 0SEND_F0; 0F1; 0SEND_F1; 0RECV_B0; 0B0; 0RECV_B1; 0B1",
        "1RECV_F0; 1F0; 1RECV_F1; 1F1; 1B0; 1SEND_B0; 1B1; 1SEND_B1",
    )
    model, decision, broken = judged(under, *programs, microbatches=2)
    assert broken is None
    found = execution(model, decision, None)
    assert sorted(found.tolist()) == list(range(model.events))
    assert set(events(model.frame, found)) == set(events(model.frame, any_execution(model)))


def test_without_an_execution_of_its_own_a_violation_is_shown_in_all_that_can_happen() -> None:
    model, decision, _ = judged("buffered", "0F0; 0B0; 0F1", microbatches=2)
    broken = next(each for each in decision.broken if each.rule.code == "PP101")
    assert not len(broken.trace)
    shown = layout(model, decision, broken)
    assert (shown.timed, shown.frontier) == (False, None)
    assert shown.happened.tolist() == [1, 1, 1]
    assert shown.span == 3


def test_weak_messages_move_in_an_execution_of_their_own() -> None:
    transport = {"completion": "rendezvous", "wait": "blocking", "weak": ["c"]}
    programs = ("0F0; SEND F0.0 to=1 comm=c", "RECV F0.0 from=0 comm=c; 1F0")
    keys = {"transport": transport, "stages": 2, "placement": [0, 1]}
    model, decision, broken = judged("custom", *programs, **keys)
    assert broken is None
    assert len(model.weak) == 1
    shown = layout(model, decision, None)
    assert (shown.timed, shown.frontier) == (False, None)
    assert sorted(execution(model, decision, None).tolist()) == list(range(model.events))
