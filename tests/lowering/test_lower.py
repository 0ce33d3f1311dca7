"""A schedule as run: placed, written out, repeated."""

from pipeproof.lowering.lower import lower
from tests.semantics.made import schedule


def test_stages_are_placed_and_short_messages_written_out() -> None:
    made = lower(schedule("0F0; 0SEND_F0", "1RECV_F0; 1F0"))

    assert made.placement == (0, 1)
    assert list(made.operations.program(0)) == ["0F0", "SEND F0.0 to=1"]
    assert list(made.operations.program(1)) == ["RECV F0.0 from=0", "1F0"]


def test_the_schedule_stays_as_it_was_written() -> None:
    written = schedule("0F0; 0SEND_F0", "1RECV_F0; 1F0")
    made = lower(written)

    assert made.schedule is written
    assert list(written.operations.program(0)) == ["0F0", "0SEND_F0"]


def test_a_row_of_a_copy_leads_back_to_its_row_as_written() -> None:
    made = lower(schedule("0F0", "1F0"), repeated=2)

    assert made.copies == 2
    assert made.written.tolist() == [0, 0, 1, 1]
    assert made.copy.tolist() == [0, 1, 0, 1]
