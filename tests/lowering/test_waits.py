"""Which instruction waits for which row."""

import pytest

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Wait
from pipeproof.lowering.waits import write_in
from tests.semantics.made import run

BLOCKING, AT_USE, EXPLICIT = Wait.BLOCKING, Wait.AT_USE, Wait.EXPLICIT


def moment(made: AsRun, number: int) -> str:
    instructions = int(made.rank_start[-1])
    if number >= 2 * instructions:
        return f"end r{number - 2 * instructions}"
    text = made.operations.instruction_text(number // 2)
    return f"{'done' if number % 2 else 'start'} {text}"


def waits(wait: Wait, *programs: str, **keys: object) -> dict[str, str]:
    """Each row that is waited for, and the moment that waits."""
    made = run(*programs, **keys)
    found = write_in(made, wait)
    both = zip(found.rows.tolist(), found.moments.tolist(), strict=True)
    return {made.operations.text(row): moment(made, number) for row, number in both}


def test_blocking_messages_end_with_their_own_instruction() -> None:
    found = waits(BLOCKING, "0F0; SEND F0.0 to=1", "[RECV F0.0 from=0 | SEND v to=0]")

    assert found == {
        "SEND F0.0 to=1": "done SEND F0.0 to=1",
        "RECV F0.0 from=0": "done [RECV F0.0 from=0 | SEND v to=0]",
        "SEND v to=0": "done [RECV F0.0 from=0 | SEND v to=0]",
    }


def test_a_receive_at_use_ends_before_its_first_reader() -> None:
    found = waits(AT_USE, "", "RECV F0.0 from=0; 1B0; 1F0; 1F0")

    assert found == {"RECV F0.0 from=0": "start 1F0"}


@pytest.mark.parametrize(
    ("program", "reader"),
    [
        ("RECV A.0 from=1 buf=s; 1F0 aux=s", "1F0 aux=s"),
        ("RECV B1.0 from=1 buf=g; 0W0 gin=g", "0W0 gin=g"),
        ("RECV A.0 from=1; 0F0", "end r0"),
    ],
)
def test_what_storage_alone_names_is_read_too(program: str, reader: str) -> None:
    found = waits(AT_USE, program, "", stages=2)
    moment = reader if reader.startswith("end") else f"start {reader}"

    assert list(found.values()) == [moment]


def test_a_reader_before_the_receive_does_not_wait_for_it() -> None:
    assert waits(AT_USE, "", "1F0; RECV F0.0 from=0") == {"RECV F0.0 from=0": "end r1"}


def test_a_reader_in_the_bracket_of_the_receive_does_not_wait_for_it() -> None:
    found = waits(AT_USE, "[RECV v from=1 | SEND v to=1]; SEND v to=1", "")

    assert found["RECV v from=1"] == "start SEND v to=1"


def test_a_reader_on_another_rank_does_not_wait() -> None:
    found = waits(AT_USE, "SEND v to=1", "RECV v from=0", "SEND v to=0")

    assert found["RECV v from=0"] == "end r1"


def test_a_receive_that_reads_whatever_comes_has_no_reader() -> None:
    assert waits(AT_USE, "", "RECV v from=0; 1F0") == {"RECV v from=0": "end r1"}


@pytest.mark.parametrize("step", ["0STEP", "0SKIP"])
def test_what_nobody_reads_ends_before_the_next_step_of_its_rank(step: str) -> None:
    found = waits(AT_USE, f"SEND v to=1; {step}; SEND u to=1", "RECV v from=0; RECV u from=0")

    assert found == {
        "SEND v to=1": f"start {step}",
        "SEND u to=1": "end r0",
        "RECV v from=0": "end r1",
        "RECV u from=0": "end r1",
    }


def test_a_step_of_another_rank_ends_nothing() -> None:
    assert waits(AT_USE, "SEND v to=1", "1STEP")["SEND v to=1"] == "end r0"


def test_a_reader_before_the_step_is_what_waits() -> None:
    found = waits(AT_USE, "", "RECV F0.0 from=0; 1F0; 1STEP")

    assert found == {"RECV F0.0 from=0": "start 1F0"}


def test_a_reader_behind_the_step_waits_no_longer_than_the_step() -> None:
    found = waits(AT_USE, "", "RECV F0.0 from=0; 1STEP; 1F0")

    assert found == {"RECV F0.0 from=0": "start 1STEP"}


def test_explicit_messages_are_waited_for_by_nobody() -> None:
    assert waits(EXPLICIT, "SEND v to=1", "RECV v from=0") == {}


@pytest.mark.parametrize("wait", Wait)
def test_a_handle_is_waited_for_by_the_next_wait_of_its_rank(wait: Wait) -> None:
    found = waits(wait, "SEND v to=1 h=x; 0F0; WAIT x", "SEND u to=0 h=x; WAIT x; SEND t to=0 h=x")

    assert found == {"SEND v to=1 h=x": "done WAIT x", "SEND u to=0 h=x": "done WAIT x"}


@pytest.mark.parametrize("wait", Wait)
def test_a_handle_that_is_never_waited_for_has_no_moment(wait: Wait) -> None:
    assert waits(wait, "SEND v to=1 h=x; WAIT x; SEND u to=1 h=x", "") == {
        "SEND v to=1 h=x": "done WAIT x"
    }


def test_a_handle_can_be_started_again_after_its_wait() -> None:
    program = "SEND v to=1 h=x; SEND u to=1 h=x; WAIT x; SEND w to=1 h=x; 0F0; WAIT x"
    made = run(program, "")
    found = write_in(made, BLOCKING)

    assert sorted(zip(found.rows.tolist(), found.moments.tolist(), strict=True)) == [
        (0, 5),  # two messages, and the WAIT at position 2 that ends both
        (1, 5),
        (3, 11),
    ]


@pytest.mark.parametrize("wait", Wait)
def test_collectives_without_a_handle_block_under_every_transport(wait: Wait) -> None:
    found = waits(wait, "COLL all ranks=0; 0TIE ranks=0; COLL more ranks=0 h=x; WAIT x")

    assert found == {
        "COLL all ranks=0": "done COLL all ranks=0",
        "0TIE ranks=0": "done 0TIE ranks=0",
        "COLL more h=x ranks=0": "done WAIT x",
    }


def test_reductions_and_norms_are_waited_for_where_they_have_a_handle() -> None:
    found = waits(BLOCKING, "0REDUCE h=x; 0NORM ranks=0 h=y; 0REDUCE; WAIT x; WAIT y")

    assert found == {"0REDUCE h=x": "done WAIT x", "0NORM h=y ranks=0": "done WAIT y"}


def test_a_wait_ends_the_whole_bracket() -> None:
    found = waits(AT_USE, "[SEND v to=1 | RECV u from=1] h=x; WAIT x", "")

    assert found == {"SEND v to=1 h=x": "done WAIT x", "RECV u from=1 h=x": "done WAIT x"}
