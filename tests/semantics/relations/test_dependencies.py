"""What each operation needs before it starts, as pairs of events."""

from pipeproof.semantics.relations.dependencies import (
    forwards,
    gradients,
    halves,
    passes,
    sends,
    unwaited_reads,
)
from tests.semantics.made import PASSED_ON, frame, needs


def test_a_forward_needs_the_activation_handed_over_on_its_rank() -> None:
    made = frame("0F0; 1F0")

    assert needs(made, forwards(made)) == ["done r0.0 -> start r0.1"]


def test_a_forward_needs_the_arrival_of_what_it_receives() -> None:
    made = frame(*PASSED_ON)

    assert needs(made, forwards(made)) == ["arrived F0.0 -> start r1.1"]


def test_a_receive_that_starts_later_is_needed_when_it_has_ended() -> None:
    made = frame("0F0; SEND F0.0 to=1", "1F0; RECV F0.0 from=0")

    assert needs(made, forwards(made)) == ["done r1.1 -> start r1.0"]


def test_what_stands_nowhere_is_needed_all_the_same() -> None:
    made = frame("0F0", "1F0")

    assert needs(made, forwards(made)) == ["nothing -> start r1.0"]


def test_a_fragment_has_what_it_does_not_write_from_the_start() -> None:
    made = frame("0F0", "1F0; 1B0", fragment=True)

    assert needs(made, forwards(made)) == []
    assert needs(made, passes(made)) == ["done r1.0 -> start r1.1"]


def test_inputs_labels_and_names_are_there_from_the_start() -> None:
    made = frame("0F0; 0L0; SEND v to=1; SEND X.0 to=1", "")

    assert needs(made, forwards(made)) == ["done r0.0 -> start r0.1"]
    assert needs(made, sends(made)) == []


def test_an_input_that_is_loaded_is_needed_from_there() -> None:
    made = frame("0F0; LOAD X.0")

    assert needs(made, forwards(made)) == ["done r0.1 -> start r0.0"]


def test_a_receive_from_no_rank_brings_nothing() -> None:
    made = frame("RECV F0.0 from=9; 1F0", stages=2)

    assert needs(made, forwards(made)) == ["nothing -> start r0.1"]


def test_a_member_of_an_overlap_needs_the_member_before_it_only_to_have_started() -> None:
    made = frame("(0F0;1F0)OVERLAP_F_B")

    assert needs(made, forwards(made)) == ["start r0.0 -> start r0.0"]


def test_a_member_of_an_overlap_needs_the_member_behind_it_to_have_ended() -> None:
    made = frame("(1F0;0F0)OVERLAP_F_B")

    assert needs(made, forwards(made)) == ["done r0.0 -> start r0.0"]


def test_a_send_needs_its_value() -> None:
    made = frame("SEND F0.0 to=1; 0F0", "RECV F0.0 from=0; SEND F0.0 to=0")

    assert needs(made, sends(made)) == ["done r0.1 -> start r0.0", "arrived F0.0 -> start r1.1"]


def test_a_backward_needs_gradient_and_forward() -> None:
    made = frame("0F0; 1F0; 1B0; 0B0")

    assert needs(made, gradients(made)) == ["done r0.2 -> start r0.3"]
    assert needs(made, passes(made)) == ["done r0.1 -> start r0.2", "done r0.0 -> start r0.3"]


def test_the_last_backward_needs_the_loss_where_it_is_an_operation() -> None:
    made = frame("0F0; 0B0; 0L0")

    assert needs(made, gradients(made)) == ["done r0.2 -> start r0.1"]


def test_a_recomputation_needs_its_forward() -> None:
    made = frame("0R0; 0F0")

    assert needs(made, passes(made)) == ["done r0.1 -> start r0.0"]


def test_a_weight_gradient_needs_its_input_gradient() -> None:
    made = frame("0F0; 0W0; 0I0; 1W0", stages=2)

    assert needs(made, halves(made)) == ["done r0.2 -> start r0.1", "nothing -> start r0.3"]


def test_a_backward_needs_the_forward_of_its_own_rank() -> None:
    made = frame("0F0", "0B0")

    assert needs(made, passes(made)) == ["nothing -> start r1.0"]


def test_nothing_kept_by_what_does_not_exist() -> None:
    made = frame("9B0; 0B9", stages=1)

    assert needs(made, passes(made)) == []


def test_segments_run_forward_in_order_and_backward_in_reverse() -> None:
    made = frame("0F0; 0F1; 0B1; 0B0", microbatches=2, segments=2)

    assert needs(made, forwards(made)) == ["done r0.0 -> start r0.1"]
    assert needs(made, gradients(made)) == ["done r0.2 -> start r0.3"]


def test_the_first_backward_of_a_microbatch_needs_all_its_segments() -> None:
    made = frame("0F0; 0F1; 0B1; 0B0", microbatches=2, segments=2)

    assert needs(made, passes(made)) == [
        *("done r0.1 -> start r0.2", "done r0.0 -> start r0.3"),
        "done r0.0 -> start r0.2",
    ]


def test_a_read_before_its_wait_is_no_pair_but_told() -> None:
    made = frame("SEND F0.0 to=1", "RECV F0.0 from=0 h=x; 1F0; WAIT x")

    assert needs(made, forwards(made)) == []
    assert [column.tolist() for column in unwaited_reads(made)[:2]] == [[2], [1]]


def test_a_read_behind_its_wait_is_a_pair() -> None:
    made = frame("SEND F0.0 to=1", "RECV F0.0 from=0 h=x; WAIT x; 1F0")

    assert needs(made, forwards(made)) == ["arrived F0.0 -> start r1.2"]
    assert unwaited_reads(made)[0].tolist() == []


def test_a_backward_needs_the_forward_that_counts() -> None:
    made = frame("0B0; 0STEP; 0F1; 0ROLLBACK; 0B1; 0F1", steps=2, fragment=True)

    assert needs(made, passes(made)) == ["done r0.5 -> start r0.4"]
