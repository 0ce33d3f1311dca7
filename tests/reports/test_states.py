"""The state before and after each event, worked out by hand."""

import numpy as np

from pipeproof.reports._states import GROUPS, changes
from tests.reports.executions import at, chosen, execution, happen_in, states, values
from tests.semantics.made import BUFFERED, PASSED_ON, RENDEZVOUS, model


def test_a_rank_is_before_in_and_behind_each_of_its_instructions() -> None:
    made = model("0F0; 0F1", microbatches=2)
    assert values(made, execution(made), "ranks", "r0") == [
        "before 0: 0F0",
        "in 0: 0F0",
        "before 1: 0F1",
        "in 1: 0F1",
        "before its end",
        "at its end",
    ]


def test_a_message_is_posted_on_its_way_and_gone_where_it_is_buffered() -> None:
    made = model(*PASSED_ON, under=BUFFERED)
    words = ["start r0.0", "done r0.0", "start r0.1", "drained F0.0", "start r1.0", "arrived F0.0"]
    assert values(made, happen_in(made, words), "channels", "r0→r1") == [
        "",
        "F0.0 posted",
        "F0.0 on its way",
        "F0.0 on its way; F0.0 awaited",
        "",
    ]


def test_storage_is_owned_consumable_in_flight_and_reusable() -> None:
    made = model("0F0 out=a; SEND F0.0 to=1 buf=a", "RECV F0.0 from=0 buf=b; 1F0 in=b")
    events = execution(made)
    assert values(made, events, "storage", "r0 a") == [
        "",
        "F0.0, owned by 0F0 out=a",
        "F0.0",
        "F0.0, in flight",
        "F0.0, reusable",
    ]
    assert values(made, events, "storage", "r1 b") == [
        "",
        "F0.0, in flight",
        "F0.0",
        "F0.0, reusable",
    ]


def test_values_without_storage_live_until_their_last_reader_is_done() -> None:
    made = model("0F0; 1F0; 1B0; 0B0", stages=2, placement=[0, 0])
    events = execution(made)
    assert values(made, events, "storage", "r0 what 0F0 kept") == ["", "being written", "held", ""]
    assert "r0 what 0F0 kept" in chosen(at(made, events, "start r0.3"), "storage")
    assert "r0 what 0F0 kept" not in chosen(at(made, events, "done r0.3"), "storage")
    assert values(made, events, "storage", "r0 F0.0") == ["", "being written", "held", ""]
    assert "r0 F0.0" in chosen(at(made, events, "start r0.1"), "storage")
    assert "r0 F0.0" not in chosen(at(made, events, "done r0.1"), "storage")


def test_a_step_writes_its_version_and_takes_the_gradient() -> None:
    made = model("0F0; 0B0; 0F1; 0B1; 0REDUCE; 0STEP", microbatches=2)
    events = execution(made)
    assert values(made, events, "versions", "stage 0") == [
        "version 0",
        "version 0, 1 being written",
        "version 1",
    ]
    assert values(made, events, "gradients", "stage 0") == [
        "",
        "microbatch 0",
        "microbatches 0-1",
        "microbatches 0-1, being reduced",
        "microbatches 0-1, reduced",
        "microbatches 0-1, reduced, being taken",
        "",
    ]


def test_changes_come_in_order_and_only_where_something_changes() -> None:
    made = model(*PASSED_ON, under=RENDEZVOUS)
    events = execution(made)
    told = changes(made, events)
    assert [change.step for change in told] == sorted(change.step for change in told)
    assert {change.group for change in told} <= set(GROUPS)
    after = states(made, events)
    for change in told:
        before = after[change.step] if change.step >= 0 else {}
        assert before.get((change.group, change.name), "") != change.value


def test_no_event_leaves_what_is_there_from_the_start() -> None:
    made = model(*PASSED_ON)
    told = changes(made, np.zeros(0, np.int64))
    assert {change.step for change in told} == {-1}
    assert {change.group for change in told} == {"ranks", "versions"}
