"""Torch's short messages, written out."""

from pipeproof.lowering.messages import write_out
from tests.semantics.made import schedule


def written(program: str, *placement: int, **keys: object) -> list[str]:
    """The first of two programs over four stages, with its messages written out."""
    made = schedule(program, "", stages=4, placement=list(placement), **keys)
    return list(write_out(made, placement, made.operations).program(0))


def test_activations_go_to_the_stage_after_and_come_from_the_stage_before() -> None:
    assert written("0SEND_F0; 2RECV_F0", 0, 1, 0, 1) == ["SEND F0.0 to=1", "RECV F1.0 from=1"]


def test_gradients_go_to_the_stage_before_and_come_from_the_stage_after() -> None:
    assert written("2SEND_B0; 2RECV_B0", 0, 1, 0, 1) == ["SEND B2.0 to=1", "RECV B3.0 from=1"]


def test_placement_decides_the_rank() -> None:
    assert written("0SEND_F0; 3RECV_F0", 0, 1, 1, 0) == ["SEND F0.0 to=1", "RECV F2.0 from=1"]


def test_neighbours_are_those_of_the_pipeline() -> None:
    found = written("0SEND_F0; 3SEND_F0; 2RECV_F0", 0, 1, 1, 0, pipelines=[[0, 1], [3, 2]])

    assert found == ["SEND F0.0 to=1", "SEND F3.0 to=1", "RECV F3.0 from=0"]


def test_a_message_over_the_end_of_the_pipeline_stays_as_it_is() -> None:
    ends = ["0RECV_F0", "0SEND_B0", "3SEND_F0", "3RECV_B0"]

    assert written("; ".join(ends), 0, 1, 1, 0) == ends


def test_a_message_of_a_stage_that_does_not_exist_stays_as_it_is() -> None:
    assert written("9SEND_F0; 4RECV_B0", 0, 1, 0, 1) == ["9SEND_F0", "4RECV_B0"]


def test_attributes_and_long_messages_stay() -> None:
    found = written("0SEND_F0 comm=c shape=2x3 h=x; WAIT x; SEND F0.0 to=1", 0, 1, 0, 1)

    assert found == ["SEND F0.0 to=1 comm=c h=x shape=2x3", "WAIT x", "SEND F0.0 to=1"]
