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


def test_storage_that_is_overwritten_in_place_is_owned_by_its_writer() -> None:
    program = "0F0 out=a; 1F0 in=a out=a; 1B0; 0B0"
    made = model(program, stages=2, placement=[0, 0], under=BUFFERED)
    assert values(made, execution(made), "storage", "r0 a") == [
        "",
        "F0.0, owned by 0F0 out=a",
        "F0.0",
        "F1.0, owned by 1F0 in=a out=a",
        "F1.0, reusable",
    ]


def test_free_storage_holds_nothing() -> None:
    made = model("WRITE b v; USE b v; FREE b", fragment=True)
    assert values(made, execution(made), "storage", "r0 b") == [
        "",
        "v, owned by WRITE b v",
        "v",
        "v, reusable",
        "",
    ]


def test_slots_of_a_pool_are_named_by_their_number() -> None:
    storage = {"stash": {"slots": 1}}
    made = model("0F0; 0B0; 0F1; 0B1", microbatches=2, storage=storage)
    assert values(made, execution(made), "storage", "r0 slot 0 of stash") == [
        "",
        "what 0F0 kept, owned by 0F0",
        "what 0F0 kept",
        "what 0F0 kept, reusable",
        "what 0F1 kept, owned by 0F1",
        "what 0F1 kept",
        "what 0F1 kept, reusable",
    ]


def test_a_message_that_is_taken_for_another_is_told_with_what_it_is() -> None:
    programs = ("0F0; 0F1; SEND F0.1 to=1", "RECV F0.0 from=0; 1F0")
    made = model(*programs, stages=2, placement=[0, 1], microbatches=2, under=BUFFERED)
    events = happen_in(made, ["start r1.0", "start r0.0", "done r0.0", "start r0.1", "done r0.1"])
    assert chosen(states(made, events)[-1], "storage")["r1 F0.1 taken for F0.0"] == "in flight"


def test_values_with_a_name_of_their_own_live_as_others_do() -> None:
    made = model("WRITE a v; SEND v to=1", "RECV v from=0; USE b v", fragment=True)
    events = execution(made)
    assert values(made, events, "storage", "r1 v") == ["", "in flight", "held", ""]


def test_buffers_that_are_held_are_counted() -> None:
    made = model("HOLD 2; HOLD 1; DROP 3", fragment=True)
    assert values(made, execution(made), "storage", "r0 buffers held") == ["", "2", "3", ""]


def test_signals_and_collectives_are_open_until_all_have_come() -> None:
    made = model("SIGNAL to=1; COLL c ranks=0,1", "AWAIT from=0; COLL c ranks=0,1", fragment=True)
    events = execution(made)
    assert values(made, events, "channels", "signals r0→r1") == ["", "1 not taken", ""]
    assert values(made, events, "channels", "COLL c of r0, r1") == ["", "entered by r0", ""]


def test_a_step_that_is_not_committed_says_so_and_a_rollback_gives_back_what_it_took() -> None:
    made = model("0F0; 0B0; 0STEP; 0ROLLBACK; 0STEP; 0COMMIT", weights={"policy": "speculative"})
    events = execution(made)
    assert values(made, events, "versions", "stage 0") == [
        "version 0",
        "version 0, 1 being written",
        "version 1, not committed",
        "version 0",
        "version 0, 1 being written",
        "version 1, not committed",
        "version 1",
    ]
    assert values(made, events, "gradients", "stage 0") == [
        "",
        "microbatch 0",
        "microbatch 0, being taken",
        "",
        "microbatch 0",
        "microbatch 0, being taken",
        "",
    ]


def test_a_version_is_kept_until_its_last_reader_and_a_copy_is_as_old_as_its_gather() -> None:
    program = "0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP"
    made = model(program, microbatches=2, weights={"policy": "stash", "updates": "microbatch"})
    assert values(made, execution(made), "versions", "stage 0 version 0") == [
        "",
        "kept until 0B1 w=stash",
        "",
    ]
    made = model("0F0; 0B0; 0STEP; 0GATHER; 0F1; 0B1; 0STEP", steps=2)
    assert values(made, execution(made), "versions", "stage 0 gathered") == [
        "version 0",
        "version 1",
    ]


def test_a_stage_that_is_sharded_is_so_from_the_start() -> None:
    made = model("0UNSHARD; 0F0; 0B0; 0RESHARD")
    assert values(made, execution(made), "versions", "stage 0 parameters") == [
        "sharded",
        "being unsharded",
        "unsharded",
        "being sharded",
        "sharded",
    ]


def test_gradients_are_scaled_cleared_and_told_by_parameter() -> None:
    program = "0F0; 0B0 c=1/2; 0SCALE by=1/4; 0B1; 0ZERO"
    made = model(program, microbatches=2, fragment=True)
    assert values(made, execution(made), "gradients", "stage 0") == [
        "",
        "microbatch 0 (by 1/2)",
        "microbatch 0 (by 1/8)",
        "microbatches 0 (by 1/8), 1",
        "",
    ]
    made = model("0B0 param=w; 0B0 param=v; 0STEP param=w", fragment=True)
    events = execution(made)
    assert values(made, events, "gradients", "stage 0 w")[-1] == ""
    assert values(made, events, "gradients", "stage 0 v")[-1] == "microbatch 0"
    assert values(made, events, "versions", "stage 0 w")[-1] == "version 1"


def test_what_is_added_after_a_reduction_is_told_apart() -> None:
    made = model("0B0; 0REDUCE h=r; 0B1; WAIT r", microbatches=2, fragment=True)
    assert values(made, execution(made), "gradients", "stage 0") == [
        "",
        "microbatch 0",
        "microbatch 0, being reduced",
        "microbatch 0, being reduced, not reduced: microbatch 1",
        "microbatch 0, reduced, not reduced: microbatch 1",
    ]


def test_tied_gradients_are_summed_up_as_they_were_when_their_ties_began() -> None:
    programs = ("0B0; 0TIE ranks=0,1", "1B0; 1TIE ranks=0,1")
    made = model(*programs, fragment=True, placement=[0, 1], gradients={"tied": [[0, 1]]})
    told = values(made, execution(made), "gradients", "stage 1")
    assert told[-2:] == ["microbatch 0, being tied", "microbatches 0 (stage 0), 0, tied"]


def test_the_second_of_two_copies_says_so() -> None:
    made = model("0F0; 0B0", copies=2)
    assert values(made, execution(made), "ranks", "r0")[4:6] == [
        "before 0 of the second step: 0F0",
        "in 0 of the second step: 0F0",
    ]


def test_a_long_queue_is_told_by_its_first_and_how_many_more_there_are() -> None:
    sends = "; ".join(f"SEND F0.{m} to=1 h=s" for m in range(9))
    receives = "; ".join(f"RECV F0.{m} from=0" for m in range(9))
    made = model(sends, receives, fragment=True, microbatches=9, placement=[0], under=BUFFERED)
    said = values(made, execution(made), "channels", "r0→r1")
    assert any("and 3 more" in each for each in said)
    assert said[-1] == ""
